"""What every task turns its data into, and where that data came from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from nretm.rules import Rule

SPLITS = ("train", "dev", "test")


@dataclass(frozen=True)
class Example:
    """One thing to learn or to be tested on. The encoder reads `source + str(rule)`."""

    id: str
    source: str
    rule: Rule
    target: str
    references: tuple[str, ...]


@dataclass(frozen=True)
class Provenance:
    """Which data a result was made from; it goes into every result as it stands.

    rows      what the source held: stories, concept sets or talks
    paper     what the paper reports for the split
    examples  what was made of the rows
    left_out  why rows or references were not used, and how many
    """

    task: str
    split: str
    source: str
    rows: int
    paper: int | None
    examples: int
    left_out: dict[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        paper = "not reported by the paper" if self.paper is None else (
            "as in the paper" if self.rows == self.paper else f"the paper has {self.paper:,}")
        left_out = "".join(f"; {number:,} {why}" for why, number in self.left_out.items() if number)
        return (f"{self.task} {self.split} ({self.source}): {self.rows:,} rows, {paper}; "
                f"{self.examples:,} examples{left_out}")


class Examples(list[Example]):
    """A list of examples that knows its provenance."""

    def __init__(self, examples: Iterable[Example], provenance: Provenance):
        super().__init__(examples)
        self.provenance = provenance
