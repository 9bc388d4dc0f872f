"""The states of a rule by reading the whole prefix again: the plain way, and the yardstick of the tracker.

It follows the documented states of the predicates word for word, on text that is cut by `nretm.text`; nothing of the
tracker is used, and of the predicates only their arguments.
"""

from __future__ import annotations

import string
from typing import NamedTuple

from nretm.rules import (
    MOST_OVER,
    BeginsWith,
    CharAt,
    Chars,
    Copy,
    Count,
    EndsWith,
    InSen,
    LastSentence,
    Len,
    Not,
    Order,
    Paragraphs,
    Range,
    Rule,
    Sentences,
    StopWordCount,
    Text,
    TranslatedOnce,
    WordAt,
    WordChars,
    every,
    predicate_of,
)
from nretm.text import Policy, ends_sentence


class Status(NamedTuple):
    """A state, and whether the predicate can no longer come true."""

    status: int
    value: int | None = None
    never: bool = False


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
    status, value, never = _positive(predicate, read, current, finished)
    if not isinstance(literal, Not):
        return status, value
    if status == 2:
        return 0, None
    if finished or never:
        return 2, None
    return (1, value) if current >= (predicate.k if isinstance(predicate.k, int) else 1) else (0, None)


def _positive(predicate, read: Text, current: float, finished: bool) -> Status:
    k = predicate.k
    match predicate:
        case InSen():
            there = [bool(read.mentions(predicate.w, j)) for j in range(1, len(read.sentences) + 1)]
            if k == every:
                return _everywhere(there, Status(1), current, finished)
            return Status(2) if any(there[k - 1:k]) else Status(int(current == k), never=current > k)
        case Order():
            ends = [(m.sentence, m.end) for m in read.mentions(predicate.a)]
            after = [m for m in read.mentions(predicate.b) if ends and (m.sentence, m.begin) >= min(ends)]
            return Status(2 if after else int(bool(ends) and not finished))
        case Copy():
            return Status(2 if any(read.mentions(form) for form in (predicate.w, *predicate.forms)) else 0)
        case Count():
            count = len({(m.sentence, m.end) for m in read.mentions(predicate.w)})
            return _counted(predicate.n, count, current, finished)
        case TranslatedOnce():
            done = k < current and k <= len(read.sentences)
            return Status(1 if current == k else 2 if done else 0)
        case Len() | StopWordCount() | Chars():
            return _in_place(predicate, read, current, finished)
        case WordAt() | BeginsWith() | EndsWith():
            return _word_at(predicate, read, current, finished)
        case WordChars():
            sized = [_off(predicate.n, len(word)) == 0 for words in read.written for word in words
                     if not read.policy.is_punctuation(word)]
            status = 0 if not all(sized) else 2 if finished else int(current > 0)
            return Status(status, never=not all(sized))
        case CharAt():
            return _character_at(predicate, read, current, finished)
        case Sentences():
            return _sentences(predicate, read, current, finished)
        case Paragraphs():
            return _counted(predicate.n, len(read.text.strip().split("\n\n")) if current and read.text.strip() else 0,
                            current, finished)
        case LastSentence():
            return _last_sentence(predicate, read, finished)
    raise TypeError(f"no plain reading of {predicate.name}")


def _off(n: int | Range, count: int) -> int:
    """How many are missing, or, below zero, too many."""
    low, high = (n.low, n.high) if isinstance(n, Range) else (n, n)
    return low - count if count < low else 0 if high is None or count <= high else high - count


def _counted(n: int | Range, count: int, current: float, finished: bool) -> Status:
    """A count over the whole output."""
    off = _off(n, count)
    if finished:
        return Status(0 if off else 2)
    return Status(1, max(off, -MOST_OVER), off < 0) if current else Status(0, never=off < 0)


def _everywhere(right: list[bool], now: Status, current: float, finished: bool) -> Status:
    """What is wanted of every sentence: `right` says of which it is true, `now` is the state in the current one."""
    ended = right if finished else right[:max(int(current) - 1, 0)]
    if not all(ended):
        return Status(0, never=True)
    return Status(2) if finished else now if current else Status(0)


def _in_place(predicate, read: Text, current: float, finished: bool) -> Status:
    k, n, last = predicate.k, predicate.n, len(read.sentences)
    count_in = {"Len": read.length, "StopWordCount": read.stop_count, "Chars": read.characters}[predicate.name]
    if k is None:
        return _counted(n, count_in(), current, finished)
    counts = [count_in(j) for j in range(1, last + 1)]
    if k == every:
        off = _off(n, counts[-1] if 0 < current == last else 0)
        return _everywhere([_off(n, count) == 0 for count in counts],
                           Status(1, max(off, -MOST_OVER), off < 0), current, finished)
    if k > current or (finished and k > last):
        return Status(0)
    off = _off(n, counts[k - 1] if k <= last else 0)
    if k == current:
        return Status(1, max(off, -MOST_OVER), off < 0)
    return Status(0, never=True) if off else Status(2)


def _word_at(predicate, read: Text, current: float, finished: bool) -> Status:
    k, i, policy = predicate.k, predicate.i, read.policy
    ways = [[word for word in way if not policy.is_punctuation(word)] for way in policy.phrase(predicate.w)]

    def words(j: int | None) -> list[str]:
        return [word for word in read.words(j) if not policy.is_punctuation(word)]

    def there(found: list[str]) -> bool:
        if i > 0:
            return any(found[i - 1:i - 1 + len(way)] == way for way in ways)
        upto = found[:len(found) + i + 1] if len(found) >= -i else []
        return any(len(upto) >= len(way) and upto[len(upto) - len(way):] == way for way in ways)

    def now(found: list[str]) -> Status:
        if i < 0 or there(found):
            return Status(1)
        begun = found[i - 1:]
        if begun and not any(way[:len(begun)] == begun for way in ways):
            return Status(0, never=True)
        return Status(1, max(i - 1 - len(found), 0))

    if k == every:
        right = [there(words(j)) for j in range(1, len(read.sentences) + 1)]
        here = words(int(current)) if 0 < current == len(read.sentences) else []
        return _everywhere(right, now(here), current, finished)
    over = finished or (k is not None and current > k)
    found = words(k)
    if over:
        return Status(2 if there(found) else 0, never=True)
    if current < (k or 1):
        return Status(0)
    return Status(2) if i > 0 and there(found) else now(found)


def _character_at(predicate, read: Text, current: float, finished: bool) -> Status:
    text, i = read.text.strip(), predicate.i
    reached = len(text) >= abs(i)
    same = reached and text[i - 1 if i > 0 else i].casefold() == predicate.c.casefold()
    if finished or (i > 0 and reached):
        return Status(2 if same else 0, never=True)
    return Status(1, i - 1 - len(text) if i > 0 else None) if current else Status(0)


def _sentences(predicate, read: Text, current: float, finished: bool) -> Status:
    n, p, high = predicate.n, predicate.p, getattr(predicate.n, "high", predicate.n)
    parts = [read.text] if p is None else read.text.strip().split("\n\n") if read.text.strip() else []
    counts = [len(read.policy.sentences_of(part)) for part in parts]
    unfinished = not finished and bool(parts) and bool(parts[-1].strip()) and not ends_sentence(parts[-1].split()[-1])

    def now() -> Status:
        ended = counts[-1] - unfinished
        off = _off(n, ended + (unfinished and high is not None and ended >= high))
        return Status(1, max(off, -MOST_OVER), off < 0)

    right = [_off(n, count) == 0 for count in counts]
    if p is None:
        return Status(2 if right[0] else 0) if finished else now() if current else Status(0)
    if p == every:
        return _everywhere(right, now() if counts else Status(0), len(counts), finished)
    if len(counts) < p:
        return Status(0)
    if finished or len(counts) > p:
        return Status(2 if right[p - 1] else 0, never=True)
    return now()


def _last_sentence(predicate, read: Text, finished: bool) -> Status:
    around = string.punctuation + string.whitespace
    parts = read.text.strip().split("\n\n") if read.text.strip() else []
    p = predicate.p
    if len(parts) < p:
        return Status(0)
    if len(parts) == p and not finished:
        return Status(1)
    paragraph, begins = parts[p - 1].strip(), [0]
    for begin in range(1, len(paragraph)):
        if paragraph[begin - 1].isspace() and not paragraph[begin].isspace():
            if ends_sentence(paragraph[:begin].split()[-1], paragraph[begin:]):
                begins.append(begin)
    wanted = predicate.s.casefold().strip(around)
    ends = any(paragraph[begin:].casefold().strip(around) == wanted for begin in begins)
    return Status(2 if ends else 0, never=True)
