"""NRETM: rules in predicate logic that a transformer obeys while it writes.

The symbolic half is imported here and needs no torch; the names of the neural half load it when they are first used.
"""

from typing import TYPE_CHECKING

from nretm.rules import (
    And,
    Copy,
    Count,
    InSen,
    Len,
    Not,
    Or,
    Order,
    Phrase,
    Predicate,
    Rule,
    RuleSyntaxError,
    Sentence,
    StopWordCount,
    TranslatedOnce,
    Verdict,
    check,
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
    "And", "Collator", "Copy", "Count", "Enforcer", "FlagTable", "HardWord", "InSen", "Len", "Not", "Or", "Order",
    "Phrase", "Policy", "Predicate", "Rule", "RuleBroken", "RuleSyntaxError", "Sentence", "State", "StateMatrix",
    "StopWordCount", "Tracker", "TranslatedOnce", "Verdict", "Written", "check", "equip", "freeze", "inflected",
    "load", "parse", "predicate", "save", "state_matrix", "write",
]

if not TYPE_CHECKING:  # or a checker would take any name for one of ours
    def __getattr__(name: str):
        if name in _NEURAL:
            from nretm import modeling

            return getattr(modeling, name)
        raise AttributeError(f"module 'nretm' has no attribute {name!r}")
