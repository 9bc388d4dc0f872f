"""What is asked of texts for COLLIE beyond what it checks: prose in which all agree on sentences, and words left whole.

These predicates serve writing alone.  They show how predicates of one's own are enforced.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import nretm
from nretm import WordAt

AROUND = ",;:\"'“”‘’()"
LOST = nretm.Need(99)  # as the text reads now
# Words after which a period need not end a sentence: with them our sentences and punkt's could differ.
SHORTENED = frozenset("""
    adm al ala apr ariz assn assoc aug ave bldg blvd bros calif capt chg cie cmdr co col colo conn corp cos ct dec
    del dept dist dr esq est etc ext feb fig fla fri ft ga gen gov hon hr ill inc ind jan jr jul jun kan kg km ky
    la lb lt ltd maj mar mass md messrs mfg mich minn miss mo mon mont mr mrs ms mt mg nev no nov oct ok okla op
    ore oz pa penn ph prof prop pt rd ref rep reps rev rs sat sec sen sep sept sgt sr st ste sun supt sw tel tenn
    tex thu tue tues va vol vs vt wed wis wash yr""".split())


class Written(NamedTuple):
    """Whether all is well so far, whether a sentence has just ended, and that with a figure, whether the text ends with
    a hyphen or in the middle of a character, and what may stand there all the same."""

    good: bool = True
    ended: bool = True
    figure: bool = False
    unfinished: bool = False
    allowed: frozenset[str] = frozenset()


@nretm.predicate
class Prose(nretm.Predicate):
    """Prose(w): sentences begin with a capital and end with a letter or figure and `.`, `!` or `?`, which stand nowhere
    else but in the words of w.  There all agree where sentences end.  1 while it is so, 2 at the end."""

    w: nretm.Phrase

    def start(self, policy):
        return Written(allowed=frozenset(form for run in self.w.split() for form in (run, run.strip(AROUND)) if form))

    def horizon(self):
        return 1, 0

    def write(self, written, run, sentence):
        good, ended, figure, unfinished, allowed = written
        text = run.text.lstrip()
        gap = run.text[:len(run.text) - len(text)]
        spaced = gap in ("", " ", "\n\n") or ("\n" not in gap and _begins(text.strip(AROUND), allowed))
        good, ended = good and not unfinished and spaced, ended or gap == "\n\n"
        figure = figure and gap != "\n\n"
        for word in text.split():
            bare = word.strip(AROUND)
            known = _begins(bare, allowed) or _begins(word, allowed)
            good = good and (known or ((not ended or _capital(word)) and plain(word, allowed)))
            good = good and (not figure or _capital(word))  # "in 2016. and": no end for punkt
            ended = word[-1] in ".!?" and (not known or plain(bare))
            figure = ended and word[-1] == "." and word[-2:-1].isdigit()
            unfinished = (word[-1] == "-" or "\ufffd" in word) and not known  # "5- and 6-story" only if it is asked for
        return Written(good, ended, figure, unfinished, allowed)

    def state(self, written, at):
        if not written.good or not at.sentence:
            return 0, None
        return (2 if written.ended else 0) if at.finished else 1, None

    def broken(self, written, at):
        return not written.good

    lost = broken

    def need(self, written, at, wanted=True):
        if not written.good:
            return LOST
        return nretm.Need(0, (" The", " It", " He") if written.ended else (".",))

    def holds(self, text, tolerance=0):
        written = self.start(text.policy)
        for run in re.findall(r"\s*\S+", text.text.strip()):
            written = self.write(written, _Run(run), 0)
        return written.good and written.ended


class _Run(NamedTuple):
    text: str


def _begins(word: str, allowed: frozenset[str]) -> bool:
    return bool(word) and any(run.startswith(word) for run in allowed)


def _capital(word: str) -> bool:
    return word.lstrip("\"'“‘(")[:1].isupper() or word[:1] == "\ufffd"


def plain(word: str, allowed: frozenset[str] = frozenset()) -> bool:
    """Whether a run of characters can end a sentence in one way only, if it ends one."""
    body = word.rstrip(".!?")
    last = re.split(r"\W", body)[-1]
    shortened = word[-1] == "." and (len(last) == 1 and last.isalpha() or last.lower() in SHORTENED)
    if body.strip(AROUND) in allowed:
        return len(word) - len(body) == 1 and not shortened
    if any(mark in body for mark in ".!?…*#_|:()[]<>/=+~") or body.count("-") > 1 or len(word) - len(body) > 1:
        return False
    if not re.search(r"\w|—|–|&|\ufffd", body):  # a sign by itself
        return False
    if len(re.findall("['’]", body.strip(AROUND))) > 1 or re.search(r"([^\W\d])\1\1", body):  # "that'l'l't", "awww"
        return False
    if body == word:
        return True
    return not shortened and (last.isalnum() if word[-1] in "!?" else last.isdigit() or last.isalpha())


@nretm.predicate
class Letters(nretm.Predicate):
    """Letters(): the output is one word of small letters.  1 while it is, 2 at the end."""

    def start(self, policy):
        return 0  # words so far; 2 if something else has been written

    def horizon(self):
        return 1, 0

    def write(self, words, run, sentence):
        return words + 1 if not words and re.fullmatch(r"\s*[a-z]+", run.text) else 2

    def state(self, words, at):
        return (2 if at.finished else 1) if words == 1 else 0, None

    def broken(self, words, at):
        return words > 1

    lost = broken

    def need(self, words, at, wanted=True):
        return LOST if words > 1 else nretm.Need(0, ("e",))

    def holds(self, text, tolerance=0):
        return bool(re.fullmatch(r"[a-z]+", text.text.strip()))


class Strict(nretm.Predicate):
    """A predicate that holds of a word that is still open too, though that might turn into another one.

    Where "Emily's" would be a word too many, the rule itself lets it stand as long as it may become "Emily'sidebody".
    Subclasses keep a tuple whose last item says whether all is well.  1 while it is so, 2 at the end.
    """

    def horizon(self):
        return 1, 0

    def state(self, memory, at):
        return (2 if at.finished else 1) if memory[-1] else 0, None

    def broken(self, memory, at):
        return not memory[-1]

    lost = broken

    def need(self, memory, at, wanted=True):
        return nretm.Need() if memory[-1] else LOST


@nretm.predicate
class NoMore(Strict):
    """NoMore(n): the output has at most n words, an open one included."""

    n: nretm.Number

    def start(self, policy):
        return 0, True

    def read(self, memory, word, sentence, index):
        return min(memory[0] + 1, self.n + 1), memory[0] < self.n

    def holds(self, text, tolerance=0):
        return text.length(None) <= self.n


@nretm.predicate
class AtOnce(Strict):
    """AtOnce(i, w): word i of the output is w, and while it is written a beginning of w."""

    i: nretm.Position
    w: nretm.Phrase

    def start(self, policy):
        return frozenset("".join(way) for way in policy.phrase(self.w)), 0, True

    def read(self, memory, word, sentence, index):
        ways, count, good = memory
        good = good and (count != self.i - 1 or any(way.startswith(word) for way in ways))
        return ways, min(count + 1, self.i), good

    def holds(self, text, tolerance=0):
        return WordAt(self.i, self.w).holds(text)


@nretm.predicate
class Unwritten(Strict):
    """Unwritten(w): w is no word of the output and, while that grows, not even what a longer word begins with: no
    "andsustainable" where "and" must not be said."""

    w: nretm.Phrase

    def start(self, policy):
        return policy.phrase(self.w), True

    def read(self, memory, word, sentence, index):
        ways, good = memory
        return ways, good and (word,) not in ways

    def holds(self, text, tolerance=0):
        return not text.mentions(self.w)
