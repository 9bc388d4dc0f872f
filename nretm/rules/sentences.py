"""Predicates about sentences and paragraphs: TranslatedOnce (section 2.2), Sentences, Paragraphs and LastSentence."""

from __future__ import annotations

import string
from typing import NamedTuple

from nretm.rules.arguments import Every, Number, Paragraph, Range, Sentence, Wording, bounds, enough, to_go
from nretm.rules.counts import MOST_OVER, Counted
from nretm.rules.predicates import LOST, Local, Need, Placed, number, predicate, sentences_before

NEXT_PARAGRAPH = ("\n\nIt was so.", "\n\nIt")
AROUND = string.punctuation + string.whitespace  # what may stand around the sentence that LastSentence names


@predicate
class TranslatedOnce(Local):
    """translateOnce(i): source sentence i is translated once.  1 while output sentence i is written, 2 afterwards.

    Its variables are the source tokens of sentence i.
    """

    k: Sentence
    name = "translateOnce"
    in_source = True

    def state(self, memory, at):
        return (2, None) if self.k <= at.ended else (1, None) if at.sentence == self.k else (0, None)

    def need(self, memory, at, wanted=True):
        return Need(sentences_before(self.k, at)) if wanted else Need()

    def holds(self, text, tolerance=0):
        return len(text.sentences) >= self.k

    def found(self, text):
        return number(len(text.sentences), "sentence")




class Passage(NamedTuple):
    """The paragraph being written, from 1; its sentences that have ended; whether all paragraphs before are right."""

    paragraph: int = 0
    ended: int = 0
    good: bool = True


@predicate
class Sentences(Placed):
    """Sentences(n): the output has n sentences; Sentences(p, n): paragraph p has; Sentences(every, n): each has.

    `1 r` while it is being written: r sentences have still to end, so that at 0 the text may; 2 if it comes out right.
    """

    p: Paragraph | Every = None
    n: Number | Range = None

    def start(self, policy):
        return Passage()

    def write(self, passage, run, sentence):
        if self.p is None:
            return passage
        paragraph, ended, good = passage
        for _ in range(run.breaks if paragraph else 1):
            if paragraph and self._here(paragraph):
                good, ended = good and not to_go(self.n, ended), 0
            paragraph += 1
        most = 1 if isinstance(self.p, Every) else self.p + 1  # paragraphs after the last that matters are alike
        return Passage(min(paragraph, most), ended, good)

    def _here(self, paragraph: int) -> bool:
        return self.p is None or isinstance(self.p, Every) or paragraph == self.p

    def end(self, passage, sentence):
        if not self._here(passage.paragraph):
            return passage
        return passage._replace(ended=min(passage.ended + 1, enough(self.n, MOST_OVER)))

    def state(self, passage, at):
        if at.finished:
            return (2 if self._right(passage) else 0), None
        if not passage.good or not at.sentence or not self._begun(passage):
            return 0, None
        if self._over(passage):
            return 2, None
        return 1, max(to_go(self.n, self._so_far(passage, at)), -MOST_OVER)

    def _begun(self, passage: Passage) -> bool:
        return not isinstance(self.p, int) or passage.paragraph >= self.p

    def _over(self, passage: Passage) -> bool:
        return isinstance(self.p, int) and passage.paragraph > self.p

    def _right(self, passage: Passage) -> bool:
        """At the end of the text."""
        if self._over(passage):
            return passage.good
        exists = self._begun(passage) and (self.p is None or passage.paragraph > 0)
        return passage.good and (not to_go(self.n, passage.ended) if exists else isinstance(self.p, Every))

    def _so_far(self, passage: Passage, at) -> int:
        """An open sentence counts where it is one too many."""
        return passage.ended + (at.open and passage.ended >= bounds(self.n)[1])

    def broken(self, passage, at):
        if at.finished or not passage.good:
            return True
        here = self._begun(passage) and not self._over(passage)
        return here and self._so_far(passage, at) > bounds(self.n)[1]

    def need(self, passage, at, wanted=True):
        if not wanted or self._over(passage):
            return Need()
        if self.broken(passage, at):
            return LOST
        if not self._begun(passage):
            return Need(max(to_go(self.n, 0), 1))
        if isinstance(self.p, Every) and not (at.open or passage.ended):  # there may be no more paragraphs
            return Need()
        return Need(max(to_go(self.n, passage.ended) - at.open, 0))

    def counts(self, text) -> list[int]:
        counts = [text.sentences_in(p) for p in range(1, len(text.paragraphs) + 1)]
        if self.p is None:
            return [len(text.sentences)]
        return counts if isinstance(self.p, Every) else counts[self.p - 1:self.p]

    def holds(self, text, tolerance=0):
        counts = self.counts(text)
        return (bool(counts) or isinstance(self.p, Every)) and all(
            abs(to_go(self.n, count)) <= tolerance for count in counts)

    def found(self, text):
        counts = self.counts(text)
        if not counts:
            return "no such paragraph"
        return number(counts[0], "sentence") if len(counts) == 1 else f"{', '.join(map(str, counts))} sentences"

    def excludes(self, other):
        low, high = bounds(self.n)
        if self.p is None and isinstance(other.k, int) and other.k > high:
            return f"{other} speaks of sentence {other.k}, which {self} does not allow"
        if isinstance(other, Sentences):
            least, most = bounds(other.n)
            here = self.p == other.p or {type(self.p), type(other.p)} == {int, Every}
            return f"{self} and {other} exclude each other" if here and (low > most or least > high) else None
        return None


@predicate
class Paragraphs(Counted):
    """Paragraphs(n): the output has n paragraphs, with an empty line between them.  `1 r`, r to come; 2 at the end."""

    n: Number | Range
    what = "paragraph"

    def __init__(self, n):
        object.__setattr__(self, "n", n)
        self.__post_init__()

    @classmethod
    def signatures(cls):
        return (("n",),)

    def write(self, tally, run, sentence):
        return self.add(tally, run.breaks if tally.count else 1)

    def count(self, text, k):
        return len(text.paragraphs)

    def need(self, tally, at, wanted=True):
        missing = to_go(self.n, tally.count)
        if not wanted:
            return Need(int(not missing))
        if missing < 0:
            return LOST
        return Need(missing, NEXT_PARAGRAPH if missing and tally.count else ())

    def least_words(self):
        return 0


class Ending(NamedTuple):
    """The paragraph being written, and how far into the wanted sentence the text has come, from each sentence on.

    fresh  the next character begins a sentence
    found  the paragraph has ended with the sentence
    """

    paragraph: int = 0
    places: frozenset[int] = frozenset()
    fresh: bool = True
    found: bool = False


@predicate
class LastSentence(Local):
    """LastSentence(p, s): the last sentence of paragraph p is s, whatever the case and the punctuation around it.

    Paragraphs are separated by an empty line.  The paragraph must end with s, and s begin where a sentence begins.
    1 while the paragraph is being written; 2 once it has ended with s.
    """

    p: Paragraph
    s: Wording

    def start(self, policy):
        return Ending()

    @property
    def _wanted(self) -> str:
        return self.s.casefold().strip(AROUND)

    def write(self, ending, run, sentence):
        paragraph, places, fresh, found = ending
        breaks = run.breaks if paragraph else 1
        if breaks and paragraph == self.p:
            found, places = len(self._wanted) in places, frozenset()
        paragraph = min(paragraph + breaks, self.p + 1)
        if paragraph == self.p:
            text = run.text.lstrip() if breaks else run.text
            for character in text.casefold():
                places = self._follow(places, character)
                if (fresh or breaks) and not character.isspace():  # the first character of a sentence
                    places |= self._follow(frozenset((0,)), character)
                    fresh, breaks = False, 0
        return Ending(paragraph, places, False, found)

    def _follow(self, places: frozenset[int], character: str) -> frozenset[int]:
        wanted = self._wanted
        return frozenset(place if place in (0, len(wanted)) and character in AROUND else place + 1
                         for place in places
                         if (place in (0, len(wanted)) and character in AROUND)
                         or (place < len(wanted) and wanted[place] == character))

    def end(self, ending, sentence):
        return ending._replace(fresh=True) if ending.paragraph == self.p else ending

    def _there(self, ending: Ending) -> bool:
        return ending.found or (ending.paragraph == self.p and len(self._wanted) in ending.places)

    def state(self, ending, at):
        if at.finished or ending.paragraph > self.p:
            return (2 if self._there(ending) else 0), None
        return int(ending.paragraph == self.p), None

    def broken(self, ending, at):
        return at.finished or (ending.paragraph > self.p and not ending.found)

    def begun(self, at) -> bool:
        return at.sentence > 0

    def need(self, ending, at, wanted=True):
        if not wanted or self._there(ending):
            return Need()
        if ending.paragraph > self.p:
            return LOST
        if ending.paragraph < self.p:
            return Need(self.p - ending.paragraph, NEXT_PARAGRAPH if ending.paragraph else ())
        written = self.s.strip(AROUND)
        if ending.fresh or not ending.paragraph:
            return Need(1, (f" {written}.", f" {written}"))
        far = max(ending.places, default=0)
        rest = (f"{written[far:]}.",) if far and len(written) == len(self._wanted) else ()
        return Need(1, rest)

    def holds(self, text, tolerance=0):
        return any(ending.casefold().strip(AROUND) == self._wanted for ending in text.endings(self.p))

    def found(self, text):
        endings = text.endings(self.p)
        return repr(endings[-1]) if endings else "no such paragraph"

    def excludes(self, other):
        if isinstance(other, LastSentence) and other.p == self.p and other._wanted != self._wanted:
            return f"{self} and {other} exclude each other"
        if isinstance(other, Paragraphs) and self.p > bounds(other.n)[1]:
            return f"{self} speaks of paragraph {self.p}, which {other} does not allow"
        return None
