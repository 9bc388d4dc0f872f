"""NRETM: rules in predicate logic that a transformer obeys while it writes.

The symbolic half is imported here and needs no torch; the names of the neural half load it when they are first used.
"""

import importlib

from nretm.check import check
from nretm.flags import FlagTable
from nretm.inflect import inflected
from nretm.matrix import StateMatrix, state_matrix
from nretm.parse import RuleSyntaxError, parse
from nretm.predicates import (
    Copy,
    Count,
    InSen,
    Len,
    Order,
    Phrase,
    Predicate,
    Sentence,
    StopWordCount,
    TranslatedOnce,
    predicate,
)
from nretm.rule import And, Not, Or
from nretm.text import Policy
from nretm.tracker import State, Tracker

__version__ = "0.1.0"

_NEURAL = {"equip": "nretm.model", "freeze": "nretm.model", "save": "nretm.model", "load": "nretm.model",
           "Collator": "nretm.collator"}

__all__ = [
    "And", "Copy", "Count", "FlagTable", "InSen", "Len", "Not", "Or", "Order", "Phrase", "Policy", "Predicate",
    "RuleSyntaxError", "Sentence", "State", "StateMatrix", "StopWordCount", "Tracker", "TranslatedOnce", "check",
    "inflected", "parse", "predicate", "state_matrix", *_NEURAL,
]


def __getattr__(name: str):
    if name in _NEURAL:
        return getattr(importlib.import_module(_NEURAL[name]), name)
    raise AttributeError(f"module 'nretm' has no attribute {name!r}")
