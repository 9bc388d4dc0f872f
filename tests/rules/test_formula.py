"""Normal forms and contradictions."""

import itertools

import pytest
from hypothesis import given, settings
from strategies import rules

from nretm import And, Copy, Len, Not, Or, parse


def _value(rule, world):
    match rule:
        case And():
            return all(_value(part, world) for part in rule.parts)
        case Or():
            return any(_value(part, world) for part in rule.parts)
        case Not():
            return not _value(rule.rule, world)
        case _:
            return world[rule]


@settings(max_examples=200)
@given(rules)
def test_normal_forms_are_equivalent_to_the_rule_in_every_world(rule):
    predicates = list({literal.rule if isinstance(literal, Not) else literal for literal in rule.literals})
    for values in itertools.product([False, True], repeat=len(predicates)):
        world = dict(zip(predicates, values, strict=True))
        assert _value(rule.nnf(), world) == _value(rule, world)
        assert all(any(_value(x, world) for x in clause) for clause in rule.cnf()) == _value(rule, world)


@settings(max_examples=200)
@given(rules)
def test_negation_is_pushed_to_the_literals(rule):
    def visit(part):
        if isinstance(part, Not):
            assert not isinstance(part.rule, (And, Or, Not))
        for inner in getattr(part, "parts", ()):
            visit(inner)
    visit(rule.nnf())


def test_nested_conjunctions_are_flat():
    a, b, c = Copy("a"), Copy("b"), Copy("c")
    assert (a & b) & c == a & (b & c) and str(a & (b & c)) == "Copy(a) & Copy(b) & Copy(c)"


@pytest.mark.parametrize("text, words", [
    ("Len(2, 5) & Len(2, 7)", ["Len(2, 5) and Len(2, 7) exclude each other"]),
    ("Copy(a) & not Copy(a)", ["Copy(a) and not Copy(a) exclude each other"]),
    ("InSen(a b c, 2) & Len(2, 2)", ["InSen(a b c, 2) needs 3 words, more than the 2 of Len(2, 2)"]),
    ("Copy(a b c) & Len(2)", ["Copy(a b c) needs 3 words, more than the 2 of Len(2)"]),
    ("Len(3) & Len(1, 4)", ["Len(1, 4) asks for a sentence longer than the whole output of Len(3)"]),
    ("StopWordCount(1, 4) & Len(1, 3)", ["StopWordCount(1, 4) needs 4 words, more than the 3 of Len(1, 3)"]),
    ("(Len(2, 5) || Len(2, 6)) & Len(2, 7)", [
        "every alternative of (Len(2, 5) || Len(2, 6)) is ruled out: Len(2, 7) and Len(2, 5) exclude each other; "
        "Len(2, 7) and Len(2, 6) exclude each other"]),
    ("not (Copy(a) || not Copy(a))", ["not Copy(a) and Copy(a) exclude each other"]),
    ("Len(1, 3) & Len(2, 3) & Len(4)", ["Len(1, 3) and Len(2, 3) need 6 words together, more than Len(4)"]),
    ("InSen(a b c, 1) & StopWordCount(2, 2) & Len(4)", [
        "InSen(a b c, 1) and StopWordCount(2, 2) need 5 words together, more than Len(4)"]),
    ("StopWordCount(1, 3) & StopWordCount(2, 1) & StopWordCount(3)", [
        "StopWordCount(1, 3) and StopWordCount(2, 1) need 4 stop words together, more than StopWordCount(3)"]),
    ("Copy(Car) & not Copy(car)", ["Copy(Car) and not Copy(car) exclude each other"]),
    ("Len(1, 3) & Len(2, 3) & Len(6)", []), ("InSen(a b, 1) & InSen(c d, 1) & Len(3)", []),
    ("Len(2, 5) & Len(3, 7)", []), ("Len(2, 5) || Len(2, 7)", []), ("InSen(a, 1) & not InSen(a, 2)", []),
    ("InSen(a b c, 2) & Len(3, 2)", [])])
def test_contradictions_are_reported_in_words(text, words):
    assert parse(text).contradictions() == words


def test_too_deep_and_too_wide_are_refused():
    rule = Copy("a")
    with pytest.raises(ValueError, match="nested more than 50 deep"):
        for _ in range(60):
            rule = ~rule
    wide = Or(tuple(Copy(f"a{i}") & Copy(f"b{i}") for i in range(20)))
    with pytest.raises(ValueError, match="more than 10000 clauses"):
        wide.cnf()
    with pytest.raises(ValueError, match="joins two rules or more"):
        And((Len(1),))
