"""Rules in predicate logic: what they are, how they are read, and whether a finished text obeys one (section 2.1)."""

from nretm.rules.arguments import (
    Character,
    Every,
    Number,
    Paragraph,
    Phrase,
    Position,
    Range,
    Sentence,
    Wording,
    every,
)
from nretm.rules.characters import CharAt, Chars, WordChars
from nretm.rules.checker import Text, Verdict, check
from nretm.rules.counts import MOST_OVER, Len, StopWordCount
from nretm.rules.formula import And, Not, Or, Rule, negation, predicate_of
from nretm.rules.inflection import inflected, inflections
from nretm.rules.mentions import Copy, Count, InSen, Order
from nretm.rules.parser import RuleSyntaxError, as_rule, parse
from nretm.rules.positions import BeginsWith, EndsWith, WordAt
from nretm.rules.predicates import Need, Predicate, predicate
from nretm.rules.sentences import LastSentence, Paragraphs, Sentences, TranslatedOnce

__all__ = ["And", "BeginsWith", "CharAt", "Character", "Chars", "Copy", "Count", "EndsWith", "Every", "InSen",
           "LastSentence", "Len", "MOST_OVER", "Need", "Not", "Number", "Or", "Order", "Paragraph", "Paragraphs",
           "Phrase",
           "Position", "Predicate", "Range", "Rule", "RuleSyntaxError", "Sentence", "Sentences", "StopWordCount",
           "Text", "TranslatedOnce", "Verdict", "WordAt", "WordChars", "Wording", "as_rule", "check", "every",
           "inflected",
           "inflections", "negation", "parse", "predicate", "predicate_of"]
