"""The states of a rule by reading the whole prefix anew: the plain way, and the yardstick of the tracker.

It follows SPEC's table of states word for word, on text that is cut by `nretm.text`; nothing of the tracker is used.
"""

from __future__ import annotations

from nretm.rules import MOST_OVER, Copy, InSen, Len, Not, Order, Rule, StopWordCount, Text, TranslatedOnce, predicate_of
from nretm.text import Policy, ends_sentence


def rescan(rule: Rule, text: str, finished: bool, policy: Policy) -> dict[Rule, tuple[int, int | None]]:
    """Literal -> (status, value) after the text so far."""
    read = Text(text, policy)
    return {literal: _state(literal, read, finished) for literal in rule.literals}


def _current(read: Text, finished: bool) -> float:
    """The sentence being written: 0 before the first word, infinity after the last."""
    if finished:
        return float("inf")
    if not read.text.strip():
        return 0
    if read.policy.separator is not None:
        return 1 + read.text.count(read.policy.separator)
    return len(read.sentences) + ends_sentence(read.text.split()[-1])


def _state(literal: Rule, read: Text, finished: bool) -> tuple[int, int | None]:
    predicate, current = predicate_of(literal), _current(read, finished)
    status, value = _positive(predicate, read, current)
    if not isinstance(literal, Not):
        return status, value
    if status == 2:
        return 0, None
    over = isinstance(predicate, (Len, StopWordCount)) and status == 1 and value < 0
    passed = predicate.k is not None and not isinstance(predicate, TranslatedOnce) and current > predicate.k
    if finished or passed or over:
        return 2, None
    return (1, value) if current >= (predicate.k or 1) else (0, None)


def _positive(predicate, read: Text, current: float) -> tuple[int, int | None]:
    k, finished = predicate.k, current == float("inf")
    match predicate:
        case InSen():
            return (2, None) if read.mentions(predicate.w, k) else (int(current == k), None)
        case Order():
            begun = bool(read.mentions(predicate.a)) and not finished
            return (2, None) if predicate.holds(read) else (int(begun), None)
        case Copy():
            return (2 if predicate.holds(read) else 0), None
        case TranslatedOnce():
            if current == k:
                return 1, None
            return (2 if k < current and k <= len(read.sentences) else 0), None
        case Len() | StopWordCount():
            if current == 0 or (k is not None and k > current):
                return 0, None
            stops = isinstance(predicate, StopWordCount)
            count = read.stop_count(k) if stops else read.length(k)
            if current == k or (k is None and not finished):
                return 1, max(predicate.n - (count or 0), -MOST_OVER)
            return (2 if count == predicate.n else 0), None
    raise TypeError(f"no plain reading of {predicate.name}")
