"""Predicates that count: Len and StopWordCount (section 2.2), and what all counts have in common."""

from __future__ import annotations

import math
from typing import NamedTuple

from nretm.rules.arguments import Every, Number, Range, Sentence, bounds, enough, to_go
from nretm.rules.predicates import LOST, Need, Placed, Predicate, number, predicate, sentences_before

FILLER = " thing"  # writes one word where it does not matter which
MOST_OVER = 9  # the value of a count goes down to zero and, where there are too many, to -MOST_OVER


class Tally(NamedTuple):
    """A count, of words or of those among `these`.

    good    it came out right in every place that has ended
    spaced  of characters: there is a space among them
    """

    these: frozenset[str] | None = None
    count: int = 0
    good: bool = True
    spaced: bool = False


class Counted(Placed):
    """How many of something there are, in sentence k, in every sentence or in the whole output.

    `1 r` while the place is being written: r are still to come; within a range r is 0; below zero there are too many.
    2 if it comes out right; 0 before, and for good once it cannot come out right any more where it has ended.
    """

    what = ""

    def count(self, text, k: int | None) -> int | None:
        """The count in sentence k of a finished text, or in all of it; None if there is no such sentence."""
        raise NotImplementedError

    def start(self, policy):
        return Tally()

    def add(self, tally: Tally, by: int = 1) -> Tally:
        these, count, good, spaced = tally
        return Tally(these, min(count + by, enough(self.n, MOST_OVER)), good, spaced)

    def close(self, tally: Tally) -> Tally:
        """Its sentence has ended; by how much it missed no longer matters."""
        fits = not to_go(self.n, tally.count)
        if isinstance(self.k, Every):
            return tally._replace(count=0, good=tally.good and fits)
        return tally if fits else tally._replace(count=0 if to_go(self.n, 0) else bounds(self.n)[1] + MOST_OVER)

    def end(self, tally, sentence):
        return tally if self.k is None else self.close(tally)

    def _begun(self, at) -> bool:
        return (self.k == at.sentence or self.k <= at.ended) if isinstance(self.k, int) else at.sentence > 0

    def state(self, tally, at):
        if not self._begun(at) or not tally.good:
            return 0, None
        if self.passed(at):
            fits = isinstance(self.k, Every) or not to_go(self.n, tally.count)
            return (2 if fits else 0), None
        return 1, max(to_go(self.n, tally.count), -MOST_OVER)

    def broken(self, tally, at):
        return self.passed(at) or not tally.good or tally.count > bounds(self.n)[1]

    def need(self, tally, at, wanted=True):
        if not wanted:
            return self._need_to_miss(tally, at)
        if not tally.good or tally.count > bounds(self.n)[1]:
            return LOST
        missing = max(to_go(self.n, tally.count), 0)
        if isinstance(self.k, int) and sentences_before(self.k, at):
            return Need(missing + sentences_before(self.k, at))
        waits = isinstance(self.k, Every) and not at.open  # the text may end here as well
        return Need(0 if waits else missing, self.fillers(missing, tally, at))

    def _need_to_miss(self, tally, at) -> Need:
        """What brings a count out of its range: only more of what is counted does, unless other sentences follow."""
        low, high = bounds(self.n)
        if not (self._begun(at) and tally.good and not to_go(self.n, tally.count)):
            return Need()
        if isinstance(self.k, Every) and low:
            return Need(1)  # a shorter sentence
        if high == math.inf or (isinstance(self.k, int) and self.passed(at)):
            return LOST
        return Need(high + 1 - tally.count)

    def fillers(self, missing: int, tally: Tally, at) -> tuple[str, ...]:
        """Texts that bring the count to its end in one go."""
        return ()

    def counts(self, text) -> list[int | None]:
        """The counts of all places that it speaks of."""
        if isinstance(self.k, Every):
            return [self.count(text, k) for k in range(1, len(text.sentences) + 1)]
        return [self.count(text, self.k)]

    def holds(self, text, tolerance=0):
        return all(count is not None and abs(to_go(self.n, count)) <= tolerance for count in self.counts(text))

    def found(self, text):
        counts = self.counts(text)
        if len(counts) == 1:
            return number(counts[0], self.what)
        return f"{', '.join(map(str, counts))} {self.what}s" if counts else "no sentences"

    def least_words(self):
        return bounds(self.n)[0] if isinstance(self.k, int | None) else 0

    def excludes(self, other):
        if type(other) is not type(self):
            return None
        overlap = self.k == other.k or {type(self.k), type(other.k)} == {int, Every}
        (low, high), (least, most) = bounds(self.n), bounds(other.n)
        return f"{self} and {other} exclude each other" if overlap and (low > most or least > high) else None

    def excludes_together(self, others):
        """A count over the whole output against what is asked of its sentences."""
        if self.k is not None:
            return None
        largest: dict[int, Predicate] = {}  # for each sentence the predicate that asks for most words
        for other in others:
            if isinstance(other.k, int) and self._counts_words_of(other):
                largest[other.k] = max(largest.get(other.k, other), other, key=lambda p: p.least_words())
        total = sum(p.least_words() for p in largest.values())
        if total > bounds(self.n)[1]:
            return f"{' and '.join(map(str, largest.values()))} need {total} {self.what}s together, more than {self}"
        return None

    def _counts_words_of(self, other: Predicate) -> bool:
        """Whether the least words of the other predicate are among those that this one counts."""
        return type(other) is type(self)


@predicate
class Len(Counted):
    """Len(k, n): sentence k has n words; Len(every, n): each has; Len(n): the whole output has n words."""

    k: Sentence | Every = None
    n: Number | Range = None
    what = "word"

    def read(self, tally, word, sentence, index):
        return self.add(tally)

    def need(self, tally, at, wanted=True):
        need = super().need(tally, at, wanted)
        return need._replace(most=max(bounds(self.n)[1] - tally.count, 0)) if wanted else need

    def count(self, text, k):
        return text.length(k)

    def fillers(self, missing, tally, at):
        if missing < 3 or self.k is None:
            return ()
        first = FILLER if at.open else " The"  # with and without the full stop, as words are counted
        return tuple(f"{first}{FILLER * (words - 1)}." for words in (missing, missing - 1))

    def excludes(self, other):
        words, most = other.least_words(), bounds(self.n)[1]
        here = self.k in (None, other.k) or (isinstance(self.k, Every) and isinstance(other.k, int))
        if words > most and type(other) is not Len and here:
            return f"{other} needs {number(words, 'word')}, more than the {self.n} of {self}"
        if isinstance(other, Len) and self.k is None and isinstance(other.k, int) and words > most:
            return f"{other} asks for a sentence longer than the whole output of {self}"
        return super().excludes(other)

    def _counts_words_of(self, other):
        return True


@predicate
class StopWordCount(Counted):
    """StopWordCount(k, s): sentence k has s stop words; every sentence and the whole output as with Len."""

    k: Sentence | Every = None
    n: Number | Range = None
    what = "stop word"

    def start(self, policy):
        return Tally(policy.stop_words)

    def read(self, tally, word, sentence, index):
        return self.add(tally) if word in tally.these else tally

    def count(self, text, k):
        return text.stop_count(k)
