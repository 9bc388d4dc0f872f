"""State flags: which input token carries the state of which predicate, and in how few entries (paper, section 2.3).

The flag of an input token is one entry per predicate, joined by spaces: N where the token is not a variable of the
predicate, else the predicate's status and value.  `2 N 1 5` reads: satisfied; not mine; in progress with five to go.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nretm.rules.formula import Rule, predicate_of
from nretm.tracking.alignment import variables_of
from nretm.tracking.growing_text import TextReader

N = "N"


class FlagTable:
    """Flags by number.  Number 0 is no flag at all: padding, or a row without a rule."""

    def __init__(self, strings: list[str] | None = None):
        self.strings = [""]
        self._ids = {"": 0}
        for flag in strings or ():
            self.intern(flag)

    def intern(self, flag: str) -> int:
        number = self._ids.get(flag)
        if number is None:
            number = self._ids[flag] = len(self.strings)
            self.strings.append(flag)
        return number

    def __len__(self) -> int:
        return len(self.strings)


def entry(state: tuple[int, int | None] | None) -> str:
    """One entry of a flag: N, a status, or a status and its value."""
    if state is None:
        return N
    status, value = state
    return str(status) if value is None else f"{status} {value}"


def joined(states: list[tuple[int, int | None]]) -> tuple[int, int | None] | None:
    """Literals that take turns in one entry: the one in progress; else satisfied if all of them are."""
    if not states:
        return None
    for state in states:
        if state[0] == 1:
            return state
    return (2, None) if all(status == 2 for status, _ in states) else (0, None)


@dataclass(frozen=True)
class Layout:
    """Where flags go.  Tokens of one group carry the same flag at every step.

    groups   (S,) the group of each input token
    entries  for each group and each entry, the numbers of the literals shown there; empty: N
    """

    groups: np.ndarray
    entries: tuple[tuple[tuple[int, ...], ...], ...]


def layout(rule: Rule, input_ids: list[int], reader: TextReader, compress: bool) -> Layout:
    """Find the variables of each literal among the input tokens and share entries where the paper allows it."""
    literals = rule.literals
    variables = variables_of(rule, input_ids, reader)
    slots = _slots(literals, variables) if compress else [[i] for i in range(len(literals))]
    everywhere = [i for i, where in enumerate(variables) if where is None]
    of_token: list[set[int]] = [set(everywhere) for _ in input_ids]
    for i, where in enumerate(variables):
        for token in where or ():
            of_token[token].add(i)
    numbers: dict[tuple, int] = {}
    groups = np.empty(len(input_ids), dtype=np.int32)
    for token, mine in enumerate(of_token):
        key = tuple(tuple(i for i in slot if i in mine) for slot in slots)
        groups[token] = numbers.setdefault(key, len(numbers))
    return Layout(groups, tuple(numbers))


def _slots(literals: tuple[Rule, ...], variables: list[frozenset[int] | None]) -> list[list[int]]:
    """Two literals share an entry if they have the same predicate and either no variable in common or no moment
    at which both are in progress, which is so when they speak of different sentences."""
    def compatible(i: int, j: int) -> bool:
        a, b = predicate_of(literals[i]), predicate_of(literals[j])
        if type(a) is not type(b):
            return False
        disjoint = None not in (variables[i], variables[j]) and not variables[i] & variables[j]
        return disjoint or (isinstance(a.k, int) and isinstance(b.k, int) and a.k != b.k)

    slots: list[list[int]] = []
    for i in range(len(literals)):
        slot = next((slot for slot in slots if all(compatible(i, j) for j in slot)), None)
        if slot is None:
            slots.append([i])
        else:
            slot.append(i)
    return slots
