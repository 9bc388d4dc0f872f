"""What a predicate may be given: a phrase, the number of a sentence, or a count."""

from __future__ import annotations

import unicodedata

from nretm.text.policy import fold

LARGEST = 99_999  # sentence indexes and counts beyond this are typing errors


class Phrase(str):
    """Kind of argument: a word or phrase.  It is printed as it was typed and compared without regard to case."""

    article = "a word or phrase"

    def __eq__(self, other: object) -> bool:
        return fold(self) == fold(other) if isinstance(other, str) else NotImplemented

    def __hash__(self) -> int:
        return hash(fold(self))

    @staticmethod
    def problem(value: object) -> str | None:
        if not isinstance(value, str):
            return f"must be a word or phrase, not {value!r}"
        return None if value.strip() else "must not be empty"


class _Number(int):
    @classmethod
    def problem(cls, value: object) -> str | None:
        if not isinstance(value, int) or isinstance(value, bool):
            return f"must be {cls.article}, not {value!r}"
        if value > LARGEST:
            return f"must be at most {LARGEST}"
        return cls.too_small if value < cls.least else None


class Sentence(_Number):
    """Kind of argument: the number of a sentence, counted from 1."""

    article, least, too_small = "a sentence number", 1, "is out of range: sentences are numbered from 1"


class Count(_Number):
    """Kind of argument: how many."""

    article, least, too_small = "a whole number", 0, "must not be negative"


KINDS = {"Phrase": Phrase, "Sentence": Sentence, "Count": Count}


def tidy(phrase: str) -> str:
    return unicodedata.normalize("NFC", " ".join(phrase.split()))


def written(argument: str | int) -> str:
    """An argument as the parser reads it back: quoted only where it must be."""
    if isinstance(argument, str) and (set(argument) & set(',()"“”') or argument[0] == "'"):
        return '"' + argument.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return str(argument)
