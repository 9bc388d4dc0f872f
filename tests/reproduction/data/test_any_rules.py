"""Rules of any shape: true of their stories, and what is kept out of training is out."""

from collections import Counter
from functools import cache

import pytest

import nretm
import reproduction.data
from nretm import And, Copy, InSen, Len, Not, Or, Order, StopWordCount
from nretm.rules import predicate_of
from reproduction.data import any_rules
from reproduction.data.any_rules import KINDS, LONG, LONG_LITERALS, MOST_LITERALS, UNSEEN

ROWS = reproduction.data.rows("rocstories", "train", size=300)
SHARES = any_rules.shares("demo")


@cache
def made(kind, split="train", seed=0):
    return any_rules.prepare(ROWS, kind, split, seed, SHARES)[0]


def clauses(rule):
    return rule.parts if isinstance(rule, And) else (rule,)


def is_literal(rule):
    return not isinstance(rule.rule if isinstance(rule, Not) else rule, And | Or | Not)


def shape(rule):
    """The unseen shapes that a rule has."""
    kinds, parts = {type(predicate_of(literal)) for literal in rule.literals}, clauses(rule)
    ways = [part for part in parts if isinstance(part, Or)]
    nested = any(not is_literal(part) and not (isinstance(part, Or) and all(map(is_literal, part.parts)))
                 for part in parts)
    found = {"any-order-lengths": Order in kinds and bool(kinds & {Len, StopWordCount}),
             "any-two-negations": sum(isinstance(part, Not) and is_literal(part) for part in parts) > 1,
             "any-three-ways": any(len(way.parts) > 2 for way in ways) and not nested,
             "any-nested": nested, "any-new-predicates": bool(kinds & {nretm.Count, nretm.Sentences}) or any(
                 not isinstance(getattr(literal, "k", None), int | None) or not isinstance(literal.n, int)
                 for literal in rule.literals if isinstance(literal, Len))}
    return {name for name, holds in found.items() if holds}


@pytest.mark.parametrize("kind", KINDS)
def test_every_rule_is_true_of_its_story(kind):
    assert len({example.id for example in made(kind)}) > 0.9 * len(ROWS)
    assert all(nretm.check(example.rule, example.target) for example in made(kind))
    assert all(nretm.parse(str(example.rule)) == example.rule for example in made(kind))


@pytest.mark.parametrize("kind", KINDS)
def test_sizes_and_shapes(kind):
    rules = [example.rule for example in made(kind)]
    sizes = {len(rule.literals) for rule in rules}
    assert sizes == set(LONG_LITERALS) if kind == LONG else sizes <= set(range(1, MOST_LITERALS + 1))
    assert {name for rule in rules for name in shape(rule)} == ({kind} if kind in UNSEEN else set())
    if kind in UNSEEN:
        assert all(shape(rule) for rule in rules)


def test_the_mixture_has_every_predicate_and_every_number_of_literals():
    rules = [example.rule for example in made("any")]
    assert {type(predicate_of(literal)) for rule in rules for literal in rule.literals} == {
        InSen, Copy, Order, Len, StopWordCount}
    assert {literal.k for rule in rules for literal in rule.literals if isinstance(literal, Len)} == {
        None, 1, 2, 3, 4, 5}
    assert {len(rule.literals) for rule in rules} == set(range(1, MOST_LITERALS + 1))


def test_deterministic_by_seed():
    assert made("any") == any_rules.prepare(ROWS, "any", "train", 0, SHARES)[0]
    assert made("any") != made("any", seed=1) and made("any") != made("any", split="dev")


def test_one_rule_per_story_where_nothing_is_trained():
    assert len(made("any")) == SHARES.rules_per_story * len(ROWS)
    assert len(made("any", split="dev")) == len({example.id for example in made("any", split="dev")})


def test_disjunctions_in_thirds():
    true = Counter()
    for kind in ("any", LONG):
        for example in made(kind):
            for part in clauses(example.rule):
                if isinstance(part, Or):
                    true[tuple(bool(nretm.check(side, example.target)) for side in part.parts)] += 1
    assert set(true) == {(True, False), (False, True), (True, True)}
    assert max(true.values()) - min(true.values()) < 0.03 * true.total()


def test_load_takes_the_kinds_and_the_shares_of_a_profile():
    examples = reproduction.data.load("rocstories", "test", "any-nested", size=20)
    assert len(examples) == examples.provenance.examples == 20
