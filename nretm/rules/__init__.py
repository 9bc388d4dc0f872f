"""Rules in predicate logic: what they are, how they are read, and whether a finished text obeys one (section 2.1)."""

from nretm.rules.arguments import Count, Phrase, Sentence
from nretm.rules.checker import Text, Verdict, check
from nretm.rules.formula import And, Not, Or, Rule, negation, predicate_of
from nretm.rules.inflection import inflected, inflections
from nretm.rules.parser import RuleSyntaxError, as_rule, parse
from nretm.rules.predicates import (
    MOST_OVER,
    Copy,
    InSen,
    Len,
    Order,
    Predicate,
    StopWordCount,
    TranslatedOnce,
    predicate,
)

__all__ = ["And", "Copy", "Count", "InSen", "Len", "MOST_OVER", "Not", "Or", "Order", "Phrase", "Predicate", "Rule",
           "RuleSyntaxError", "Sentence", "StopWordCount", "Text", "TranslatedOnce", "Verdict", "as_rule", "check",
           "inflected", "inflections", "negation", "parse", "predicate", "predicate_of"]
