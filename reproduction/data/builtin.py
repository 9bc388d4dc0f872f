"""How the built-in data of every task is drawn."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def draw(split: str, sizes: dict[str, int], size: int | None, new: Callable[[str], T | None]) -> list[T]:
    """The rows of a split, `size` of them or as many as `sizes` says.

    `new` makes a row for the split that it is given, or None if there has been such a row before. Dev and test are
    drawn first, so that they do not depend on the size of train.
    """
    if split not in sizes:
        raise ValueError(f"unknown split {split!r}: choose train, dev or test")
    drawn: list[T] = []
    for name in ("dev", "test", "train"):
        drawn = []
        wanted = sizes[name] if size is None or name != split else size
        while len(drawn) < wanted:
            if (row := new(name)) is not None:
                drawn.append(row)
        if name == split:
            break
    return drawn
