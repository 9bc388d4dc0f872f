"""TED15 zh-en: from talks to documents with `translateOnce` for every sentence (paper, section 3.3).

A talk is cut into two to four documents of whole sentences, or into short ones for a model that reads no more. The
source is its sentences, each followed by `</s>`, with the rule after it; the target is its translations with `</s>`
between them. The tokenizer puts mBART's language codes after both: `</s> zh_CN` and `</s> en_XX`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from nretm.rules import And, Len, Range, Rule, Sentences, TranslatedOnce, every
from nretm.text import Policy
from reproduction.data.example import Example

RULES = ("translated",)
PAPER_COUNTS = {"train": None, "dev": 8, "test": 56}  # talks: dev2010 and tst2010-2013
SEPARATOR = "</s>"
POLICY = Policy(separator=SEPARATOR)
FEWEST, MOST = 2, 4  # documents per talk
LONG_TALK = 25  # sentences a document for real talks, where two to four documents allow it
ONE_SENTENCE = "talks of a single sentence"

Pair = tuple[str, str]  # a sentence and its translation


def chunks(pairs: Sequence[Pair], sentences: int = LONG_TALK, most: int | None = MOST) -> list[Sequence[Pair]]:
    """A talk in two to `most` parts of equal size, of at most `sentences` sentences where so many parts are enough."""
    number = max(-(-len(pairs) // sentences), FEWEST)
    number = min(number, most or number)
    cuts = [len(pairs) * n // number for n in range(number + 1)]
    return [pairs[a:b] for a, b in pairwise(cuts)]


def prepare(talks: Sequence[tuple[str, Sequence[Pair]]], rule: str = "translated", sentences: int = LONG_TALK,
            most: int | None = MOST) -> tuple[list[Example], dict[str, int]]:
    """The examples of talks, given as (id, pairs), two to `most` of each; how many talks were left out and why."""
    if rule not in RULES:
        raise ValueError(f"unknown rule {rule!r} for documents: choose one of {', '.join(RULES)}")
    examples = []
    long_enough = [(name, pairs) for name, pairs in talks if len(pairs) >= FEWEST]
    for name, pairs in long_enough:
        for number, part in enumerate(chunks(pairs, sentences, most)):
            target = SEPARATOR.join(_tidy(english) for _, english in part)
            source = "".join(_tidy(chinese) + SEPARATOR for chinese, _ in part)
            examples.append(Example(f"{name}.{number}", source, translated_once(len(part)), target, (target,)))
    return examples, {ONE_SENTENCE: len(talks) - len(long_enough)}


def translated_once(sentences: int) -> Rule:
    """The rule that each of so many source sentences be translated once."""
    parts = tuple(TranslatedOnce(k) for k in range(1, sentences + 1))
    return And(parts) if len(parts) > 1 else parts[0]


def exactly(rule: Rule) -> Rule:
    """The same, with no sentence besides, which is what SAR counts, and with none that is empty."""
    return rule & Sentences(len(rule.literals)) & Len(every, Range(1))


def _tidy(sentence: str) -> str:
    """One line without the separator, which must stand between sentences only."""
    return " ".join(sentence.replace(SEPARATOR, " ").split())
