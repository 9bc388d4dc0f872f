"""NRETM: rules in predicate logic that a transformer obeys while it writes.

The symbolic half is imported here and needs no torch; the names of the neural half load it when they are first used.
"""

from typing import TYPE_CHECKING

from nretm.rules import (
    And,
    BeginsWith,
    Character,
    CharAt,
    Chars,
    Copy,
    Count,
    EndsWith,
    Every,
    InSen,
    LastSentence,
    Len,
    Need,
    Not,
    Number,
    Or,
    Order,
    Paragraph,
    Paragraphs,
    Phrase,
    Position,
    Predicate,
    Range,
    Rule,
    RuleSyntaxError,
    Sentence,
    Sentences,
    StopWordCount,
    TranslatedOnce,
    Verdict,
    WordAt,
    WordChars,
    check,
    every,
    inflected,
    parse,
    predicate,
)
from nretm.text import Policy
from nretm.tracking import FlagTable, State, StateMatrix, Tracker, state_matrix
from nretm.version import __version__

if TYPE_CHECKING:  # what __getattr__ loads, for type checkers
    from nretm.modeling import Collator, Enforcer, HardWord, RuleBroken, Written, equip, freeze, load, save, write

_NEURAL = ("Collator", "Enforcer", "HardWord", "RuleBroken", "Written", "equip", "freeze", "load", "save", "write")

__all__ = [
    "And", "BeginsWith", "CharAt", "Character", "Chars", "Collator", "Copy", "Count", "EndsWith", "Enforcer", "Every",
    "FlagTable", "HardWord", "InSen", "LastSentence", "Len", "Need", "Not", "Number", "Or", "Order", "Paragraph",
    "Paragraphs",
    "Phrase", "Policy", "Position", "Predicate", "Range", "Rule", "RuleBroken", "RuleSyntaxError", "Sentence",
    "Sentences", "State", "StateMatrix", "StopWordCount", "Tracker", "TranslatedOnce", "Verdict", "WordAt", "WordChars",
    "Written", "check", "equip", "every", "freeze", "inflected", "load", "parse", "predicate", "save", "state_matrix",
    "write",
]

if not TYPE_CHECKING:  # or a checker would take any name for one of ours
    def __getattr__(name: str):
        if name in _NEURAL:
            from nretm import modeling

            return getattr(modeling, name)
        raise AttributeError(f"module 'nretm' has no attribute {name!r}")
