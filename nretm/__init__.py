"""NRETM: rules in predicate logic that a transformer obeys while it writes."""

from nretm.check import check
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
from nretm.flags import FlagTable
from nretm.tracker import State, Tracker
