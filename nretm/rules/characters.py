"""Predicates about characters: Chars, WordChars and CharAt."""

from __future__ import annotations

import re
from typing import NamedTuple

from nretm.rules.arguments import Character, Every, Number, Position, Range, Sentence, bounds, to_go
from nretm.rules.counts import Counted
from nretm.rules.predicates import LOST, Local, Need, predicate, sentences_before
from nretm.text.policy import Policy

# Ordinary words by length, for texts that must come out at a length.
WORDS = ("", "a", "so", "day", "time", "house", "people", "morning", "together", "something", "understand",
         "information", "conversation")


@predicate
class Chars(Counted):
    """Chars(k, n): sentence k has n characters, spaces included; Chars(every, n); Chars(n): the whole output.

    Spaces before and after do not count; those inside count as they are written.
    """

    k: Sentence | Every = None
    n: Number | Range = None
    what = "character"

    def write(self, tally, run, sentence):
        text = run.text if tally.count else run.text.lstrip()
        return self.add(tally, len(text))._replace(spaced=tally.spaced or " " in text)

    def lost(self, tally, at):
        return self.k is None and tally.count > bounds(self.n)[1] + 1  # the last one may be unfinished, and a space

    def count(self, text, k):
        return text.characters(k)

    def need(self, tally, at, wanted=True):
        need = super().need(tally, at, wanted)
        if not wanted or need is LOST:
            return need if need is LOST else Need(min(need.words, 1))
        before = sentences_before(self.k, at) if isinstance(self.k, int) else 0
        return Need(before + (need.words > before), need.texts)  # a word may have any number of characters

    def fillers(self, missing, tally, at):
        if not missing:
            return ()
        letters = () if tally.spaced or missing > 25 else ("e" * missing, "e" * (missing - 1))  # perhaps it is one word
        return (_words(missing - 1) + ".", _words(missing), *letters)

    def least_words(self):
        return 0


def _words(length: int) -> str:
    """Words of so many characters in all, each with a space before it."""
    words = []
    while length > len(WORDS):  # what is left must be a word
        words.append(WORDS[5 if length > len(WORDS) + 7 else length - len(WORDS) + 2])
        length -= len(words[-1]) + 1
    return "".join(f" {word}" for word in (*words, WORDS[max(length - 1, 0)])) if length > 1 else "s" * length


class Sized(NamedTuple):
    """Whether all words so far have the right length; `longest`: the letters in a row that the last word has."""

    policy: Policy
    good: bool = True
    longest: int = 0


@predicate
class WordChars(Local):
    """WordChars(n): every word has n characters; punctuation is left out.  1 as long as all have, 2 at the end."""

    n: Number | Range

    def start(self, policy):
        return Sized(policy)

    def write(self, sized, run, sentence):
        good = sized.good and all(self._fits(word, sized.policy) for word in run.written)
        longest = max(map(len, re.findall("[A-Za-z]+", run.text)), default=0)
        return Sized(sized.policy, good, min(longest, 99))

    def _fits(self, word: str, policy: Policy) -> bool:
        return policy.is_punctuation(word) or not to_go(self.n, len(word))

    def state(self, sized, at):
        return (2 if at.finished else int(at.sentence > 0)) if sized.good else 0, None

    def broken(self, sized, at):
        return not sized.good

    def lost(self, sized, at):
        return sized.longest > bounds(self.n)[1] + 4  # shorter ones may still fall in two, as "cannot" does

    def need(self, sized, at, wanted=True):
        low, high = bounds(self.n)
        texts = tuple(f" {word}" for word in WORDS[1:] if low <= len(word) <= high)
        if not wanted:
            return Need(int(sized.good))
        return Need(0, texts[:4]) if sized.good else LOST

    def holds(self, text, tolerance=0):
        return all(self._fits(word, text.policy) for words in text.written for word in words)

    def found(self, text):
        wrong = [word for words in text.written for word in words if not self._fits(word, text.policy)]
        return ", ".join(wrong[:3])

    def excludes(self, other):
        (low, high), (least, most) = bounds(self.n), bounds(getattr(other, "n", 0))
        disjoint = isinstance(other, WordChars) and (low > most or least > high)
        return f"{self} and {other} exclude each other" if disjoint else None


class Letters(NamedTuple):
    """Characters so far, as far as they matter; `same`: for each of the last ones whether it is the wanted one.

    It is None for what may be an unfinished character.
    """

    count: int = 0
    same: tuple[bool | None, ...] = ()


@predicate
class CharAt(Local):
    """CharAt(i, c): character i of the output is c, counted from 1, or from the end with -1; case does not matter.

    Spaces before and after the output do not count.  `1 r` with r characters to come before it, without r if it is
    counted from the end; 2 once it is in its place; 0 once another one is.
    """

    i: Position
    c: Character

    def start(self, policy):
        return Letters()

    def write(self, letters, run, sentence):
        count, same = letters
        if self.i > 0 and count >= self.i:
            return letters
        text = run.text if count else run.text.lstrip()
        if self.i > 0:
            reached = count + len(text) >= self.i
            return Letters(self.i, (self._is(text[self.i - 1 - count]),)) if reached else Letters(count + len(text))
        return Letters(1, (*same, *map(self._is, text[self.i:]))[self.i:])

    def _is(self, character: str) -> bool | None:
        return character.casefold() == self.c.casefold() or (None if character == "\ufffd" else False)

    def state(self, letters, at):
        if self.i < 0:
            there = len(letters.same) == -self.i and letters.same[0]
            return ((2 if there else 0) if at.finished else int(at.sentence > 0)), None
        if letters.same or at.finished:
            return (2 if True in letters.same else 0), None
        return (1, self.i - 1 - letters.count) if at.sentence else (0, None)

    def broken(self, letters, at):
        return at.finished or (self.i > 0 and bool(letters.same))

    def lost(self, letters, at):
        return self.i > 0 and letters.same == (False,)

    def need(self, letters, at, wanted=True):
        there = bool(letters.same) and len(letters.same) == max(-self.i, 1) and letters.same[0]
        if not wanted or there:
            return Need()
        if self.i > 0 and letters.same:
            return LOST
        if self.i < 0:
            return Need(0, (self.c + "s" * (-self.i - 1),))
        before = self.i - 1 - letters.count
        texts = ("e" * before + self.c, "s" * before + self.c)
        return Need(0, texts if before < 12 else ())

    def holds(self, text, tolerance=0):
        there = self._there(text)
        return there is not None and bool(self._is(there))

    def _there(self, text) -> str | None:
        written = text.written_text
        index = self.i - 1 if self.i > 0 else self.i
        return written[index] if -len(written) <= index < len(written) else None

    def found(self, text):
        there = self._there(text)
        return "no such character" if there is None else repr(there)

    def excludes(self, other):
        if isinstance(other, CharAt) and other.i == self.i and not self._is(other.c):
            return f"{self} and {other} exclude each other"
        if isinstance(other, Chars) and other.k is None and abs(self.i) > bounds(other.n)[1]:
            return f"{self} needs more characters than {other}"
        return None
