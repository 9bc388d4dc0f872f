"""Predicates about the place of a word: WordAt, and BeginsWith and EndsWith for its commonest uses."""

from __future__ import annotations

from typing import NamedTuple

from nretm.rules.arguments import Every, Phrase, Position, Sentence, bounds
from nretm.rules.counts import FILLER, Len
from nretm.rules.predicates import LOST, Need, Placed, predicate, sentences_before
from nretm.text.policy import Policy


class Spot(NamedTuple):
    """What is known of a word's place in the sentence that is being written.

    ways   the phrase as sequences of words, punctuation left out
    count  words so far, as far as it matters
    rests  what is missing of the mentions that are begun
    ended  for each of the last words that matter whether a mention ended with it
    hit    the phrase stands where it should; counted from the end: it would if the sentence ended here
    good   it did in every sentence that has ended
    """

    ways: frozenset[tuple[str, ...]]
    policy: Policy
    count: int = 0
    rests: frozenset[tuple[str, ...]] = frozenset()
    ended: tuple[bool, ...] = ()
    hit: bool = False
    good: bool = True


class _WordAt(Placed):
    """Word i of sentence k is w, of every sentence, or of the whole output.

    Words are counted from 1, or from the end with -1, and punctuation is left out.  If w is several words, the first of
    them is word i, or the last one if it is counted from the end.
    `1 r` while the sentence is written and r words are to come before it; without r if it is counted from the end;
    2 once the word is in its place; 0 before, and once something else is.
    """

    def start(self, policy):
        return Spot(_without_punctuation(self.w, policy), policy)

    def read(self, spot, word, sentence, index):
        if spot.policy.is_punctuation(word):
            return spot
        if self.i < 0:
            rests = frozenset(rest[1:] for rest in (*spot.rests, *spot.ways) if rest[0] == word)
            ended = (*spot.ended, () in rests)[self.i:]
            return spot._replace(count=1, rests=rests - {()}, ended=ended, hit=len(ended) == -self.i and ended[0])
        if spot.count < self.i - 1 or spot.hit:
            return spot._replace(count=min(spot.count + 1, self.i - 1 + spot.hit))
        begun = spot.rests if spot.count >= self.i else spot.ways
        rests = frozenset(rest[1:] for rest in begun if rest[0] == word)
        return spot._replace(count=self.i, rests=rests - {()}, hit=() in rests)

    def end(self, spot, sentence):
        if isinstance(self.k, Every):
            return Spot(spot.ways, spot.policy, good=spot.good and spot.hit)
        return spot

    def _missed(self, spot: Spot) -> bool:
        return not spot.good or (self.i > 0 and spot.count >= self.i and not spot.hit and not spot.rests)

    def state(self, spot, at):
        if self.passed(at):
            there = spot.good if isinstance(self.k, Every) else spot.hit
            return (2 if there else 0), None
        if not self.begun(at) or self._missed(spot):
            return 0, None
        if spot.hit and self.i > 0 and not isinstance(self.k, Every):
            return 2, None
        return 1, None if self.i < 0 or spot.hit else max(self.i - 1 - spot.count, 0)

    def broken(self, spot, at):
        return self.passed(at) or self._missed(spot)

    def need(self, spot, at, wanted=True):
        if not wanted or (spot.hit and not isinstance(self.k, Every)):
            return Need(int(not wanted and spot.hit))
        if self._missed(spot):
            return LOST
        if isinstance(self.k, int) and sentences_before(self.k, at):
            return Need(sentences_before(self.k, at) + max(self.i, 1))
        if spot.hit:
            return Need()
        open_ = at.open or not isinstance(self.k, Every)
        rests = tuple(" " + " ".join(rest) for rest in sorted(spot.rests, key=len))
        if self.i > 0:
            before = max(self.i - 1 - spot.count, 0)
            words = before + 1 if open_ else 0
            return Need(words, () if before else rests or (f" {self.w}",))
        after = FILLER * (-self.i - 1)
        late = tuple(FILLER * (-self.i - 1 - n) for n, ended in enumerate(reversed(spot.ended)) if ended)
        return Need(int(open_), (*late[:1], *rests, f" {self.w}{after}"))

    def holds(self, text, tolerance=0):
        sentences = range(1, len(text.sentences) + 1) if isinstance(self.k, Every) else [self.k]
        ways = _without_punctuation(self.w, text.policy)
        return all(any(self._slice(text.positions(k), len(way)) == list(way) for way in ways) for k in sentences)

    def _slice(self, words: list[str], length: int) -> list[str] | None:
        begin = self.i - 1 if self.i > 0 else len(words) + self.i + 1 - length
        return words[begin:begin + length] if 0 <= begin else None

    def found(self, text):
        sentences = range(1, len(text.sentences) + 1) if isinstance(self.k, Every) else [self.k]
        there = [self._slice(text.positions(k), 1) for k in sentences]
        return ", ".join(repr(words[0]) if words else "no such word" for words in there) or "no sentences"

    def least_words(self):
        return abs(self.i) if isinstance(self.k, int | None) else 0

    def excludes(self, other):
        here = self.k == getattr(other, "k", None) or {type(self.k), type(other.k)} == {int, Every}
        if isinstance(other, _WordAt) and here and other.i == self.i and self.w != other.w:
            if len(self.w.split()) == len(other.w.split()) == 1:
                return f"{self} and {other} exclude each other"
        if isinstance(other, Len) and here and isinstance(self.k, Every) and abs(self.i) > bounds(other.n)[1]:
            return f"{self} needs longer sentences than {other}"
        return None


def _without_punctuation(phrase: str, policy: Policy) -> frozenset[tuple[str, ...]]:
    ways = frozenset(tuple(word for word in way if not policy.is_punctuation(word)) for way in policy.phrase(phrase))
    if () in ways:
        raise ValueError(f"{phrase!r} is punctuation, which has no position among the words: use Copy or InSen for it")
    return ways


@predicate
class WordAt(_WordAt):
    """WordAt(k, i, w): word i of sentence k is w; WordAt(every, i, w); WordAt(i, w): of the whole output."""

    k: Sentence | Every = None
    i: Position = None
    w: Phrase = None


@predicate
class BeginsWith(_WordAt):
    """BeginsWith(k, w): sentence k begins with w; BeginsWith(every, w); BeginsWith(w): the output does."""

    k: Sentence | Every = None
    w: Phrase = None
    i = 1


@predicate
class EndsWith(_WordAt):
    """EndsWith(k, w): w stands at the end of sentence k; EndsWith(every, w); EndsWith(w): of the output."""

    k: Sentence | Every = None
    w: Phrase = None
    i = -1
