"""What a predicate may be given: phrases, numbers of sentences, counts and ranges.

The fields of a predicate are annotated with these kinds.  `n: Number | Range` takes either.
"""

from __future__ import annotations

import math
import re
import unicodedata
from dataclasses import dataclass

from nretm.text.policy import fold

LARGEST = 99_999  # sentence indexes and counts beyond this are typing errors
_NUMBER = re.compile(r"[+-]?[0-9]+")
_RANGE = re.compile(r"([0-9]*)\s*\.\.\s*([0-9]*)")


class Phrase(str):
    """Kind of argument: a word or phrase.  It is printed as it was typed and compared without regard to case."""

    article = "a word or phrase"

    def __eq__(self, other: object) -> bool:
        return fold(self) == fold(other) if isinstance(other, str) else NotImplemented

    def __hash__(self) -> int:
        return hash(fold(self))

    @staticmethod
    def read(text: str) -> str:
        return text

    @classmethod
    def problem(cls, value: object) -> str | None:
        if not isinstance(value, str):
            return f"must be {cls.article}, not {value!r}"
        return None if value.strip() else "must not be empty"

    @classmethod
    def tidy(cls, text: str) -> Phrase:
        return cls(unicodedata.normalize("NFC", " ".join(text.split())))


class Wording(Phrase):
    """Kind of argument: a text that is meant character by character, spaces included."""

    article = "a text"

    @classmethod
    def tidy(cls, text: str) -> Phrase:
        return cls(text.strip())


class Character(Phrase):
    """Kind of argument: one character that can be seen."""

    article = "one character"

    @staticmethod
    def problem(value: object) -> str | None:
        is_one = isinstance(value, str) and len(Phrase.tidy(value)) == 1
        return None if is_one else f"must be one character, not {value!r}"


class _Integer(int):
    """A whole number between bounds."""

    @staticmethod
    def read(text: str) -> int | None:
        return _whole(text) if _NUMBER.fullmatch(text) else None

    @classmethod
    def problem(cls, value: object) -> str | None:
        if not isinstance(value, int) or isinstance(value, bool):
            return f"must be {cls.article}, not {value!r}"
        if value > LARGEST:
            return f"must be at most {LARGEST}"
        return cls.too_small if value < cls.least else None


class Sentence(_Integer):
    """Kind of argument: the number of a sentence, counted from 1."""

    article, least, too_small = "a sentence number", 1, "is out of range: sentences are numbered from 1"


class Paragraph(_Integer):
    """Kind of argument: the number of a paragraph, counted from 1."""

    article, least, too_small = "a paragraph number", 1, "is out of range: paragraphs are numbered from 1"


class Number(_Integer):
    """Kind of argument: how many."""

    article, least, too_small = "a whole number", 0, "must not be negative"


class Position(_Integer):
    """Kind of argument: a place in a row, counted from 1, or from the end with -1."""

    article, least, too_small = "a position", -999, "must be at least -999"

    @classmethod
    def problem(cls, value: object) -> str | None:
        if value == 0:
            return "must not be 0: positions are counted from 1, or from the end with -1"
        return super().problem(value)


@dataclass(frozen=True)
class Every:
    """Kind of argument: the word `every`, for every sentence or paragraph; in Python it is `nretm.every`."""

    article = "every"

    @staticmethod
    def read(text: str) -> Every | None:
        return every if text.lower() == "every" else None

    @staticmethod
    def problem(value: object) -> str | None:
        return None if isinstance(value, Every) else f"must be every, not {value!r}"

    def __str__(self) -> str:
        return "every"

    __repr__ = __str__


every = Every()


@dataclass(frozen=True)
class Range:
    """Kind of argument: how many, between two bounds of which one may be missing: 10..20, 10.. or ..4."""

    low: int = 0
    high: int | None = None

    article = "a range such as 10..20, 10.. or ..4"

    @staticmethod
    def read(text: str) -> int | Range | None:
        found = _RANGE.fullmatch(text)
        if not found or not any(found.groups()):
            return None
        low, high = (_whole(bound) if bound else None for bound in found.groups())
        return low if low == high else Range(low or 0, high)

    @staticmethod
    def problem(value: object) -> str | None:
        if not isinstance(value, Range):
            return f"must be {Range.article}, not {value!r}"
        bounds_given = [value.low] if value.high is None else [value.low, value.high]
        if problem := next(filter(None, map(Number.problem, bounds_given)), None):
            return problem
        if value == Range():
            return "must have a bound: write 10.. or ..4"
        return f"is empty: nothing is in {value}" if value.high is not None and value.low > value.high else None

    def __str__(self) -> str:
        return f"{self.low or ''}..{'' if self.high is None else self.high}"


KINDS = {kind.__name__: kind
         for kind in (Phrase, Wording, Character, Sentence, Paragraph, Number, Position, Every, Range)}


def _whole(digits: str) -> int:
    return int(digits) if len(digits) < 10 else 10**9  # too large in any case


def kinds_of(annotation: str) -> tuple[type, ...]:
    """The kinds that an annotation such as "Number | Range" names; none if the field is no argument."""
    kinds = tuple(KINDS.get(name) for name in annotation.split(" | "))
    return () if None in kinds else kinds


def read_argument(kinds: tuple[type, ...], text: str) -> object:
    """What the text means as an argument; None if it cannot be one."""
    return next((value for kind in kinds if (value := kind.read(text)) is not None), None)


def wanted(kinds: tuple[type, ...]) -> str:
    return " or ".join(kind.article for kind in kinds)


def problem_with(kinds: tuple[type, ...], value: object) -> str | None:
    """Why the value is not of any of the kinds."""
    problems = [kind.problem(value) for kind in kinds]
    if None in problems:
        return None
    for kind, problem in zip(kinds, problems, strict=True):  # what is wrong with a value of the right type
        if isinstance(value, Range if kind is Range else int if issubclass(kind, int) else str):
            return problem
    return f"must be {wanted(kinds)}, not {value!r}"


def bounds(n: int | Range) -> tuple[int, int | float]:
    """The least and the largest count that a number or range allows."""
    return (n.low, math.inf if n.high is None else n.high) if isinstance(n, Range) else (n, n)


def to_go(n: int | Range, count: int) -> int:
    """How many are missing; 0 inside a range, below zero where there are too many."""
    low, high = bounds(n)
    return low - count if count < low else min(high - count, 0)


def enough(n: int | Range, over: int) -> int:
    """The count from which on nothing changes any more: `over` too many, or enough where there is no upper bound."""
    low, high = bounds(n)
    return low if high == math.inf else high + over


def written(argument: object) -> str:
    """An argument as the parser reads it back: quoted only where it must be."""
    if isinstance(argument, str) and (set(argument) & set(',()"“”') or argument[0] == "'"):
        return '"' + argument.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return str(argument)
