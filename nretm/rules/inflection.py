"""Inflected forms of a concept, for the paper's P^_c: plurals, tenses, comparison (section 3.2)."""

from __future__ import annotations

import dataclasses
from functools import lru_cache

from nretm.rules.formula import Not, Rule, _Joined
from nretm.rules.mentions import Copy
from nretm.rules.parser import as_rule


@lru_cache(maxsize=100_000)
def inflections(word: str) -> tuple[str, ...]:
    """All forms of a word, the word first; a phrase is inflected in its last word as a noun and in its first as a verb.

    For words that lemminflect does not know its rules for unknown words are used.
    """
    words = word.split()
    if len(words) > 1:
        nouns = (" ".join((*words[:-1], form)) for form in _forms(words[-1], ("NOUN",)))
        verbs = (" ".join((form, *words[1:])) for form in _forms(words[0], ("VERB",)))
        return tuple(dict.fromkeys((word, *nouns, *verbs)))
    return tuple(dict.fromkeys((word, *_forms(word, ("NOUN", "VERB", "ADJ", "ADV")))))


def _forms(word: str, parts_of_speech: tuple[str, ...]) -> list[str]:
    import lemminflect  # loads its tables: only when it is asked

    found = [lemminflect.getAllInflections(word, upos=upos) for upos in parts_of_speech]
    if not any(found):
        regular = [upos for upos in parts_of_speech if upos in ("NOUN", "VERB")]
        found = [lemminflect.getAllInflectionsOOV(word, upos=upos) for upos in regular]
    return sorted({form for tags in found for forms in tags.values() for form in forms})


def inflected(rule: Rule | str) -> Rule:
    """The same rule, every Copy satisfied by any inflection as well; its input expression does not change."""
    rule = as_rule(rule)
    match rule:
        case _Joined():
            return type(rule)(tuple(map(inflected, rule.parts)))
        case Not():
            return Not(inflected(rule.rule))
        case Copy():
            return dataclasses.replace(rule, forms=inflections(rule.w)[1:])
        case _:
            return rule
