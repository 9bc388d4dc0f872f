"""Rules of any shape: true of their stories, and what is kept out of training is out."""

from collections import Counter
from dataclasses import replace
from functools import cache

import pytest

import nretm
import reproduction.data
from nretm import And, Copy, Every, InSen, Len, Not, Or, Order, Range, StopWordCount
from nretm.rules import predicate_of
from nretm.tracking import automaton_for, reader_for, witnesses_for
from reproduction.data import any_rules, builtin_stories
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
             "any-nested": nested,
             "any-new-predicates": bool(kinds & {nretm.Chars, nretm.WordChars, nretm.EndsWith})}
    return {name for name, holds in found.items() if holds}


@pytest.mark.parametrize("kind", KINDS)
def test_every_rule_is_true_of_its_story(kind):
    assert len({example.id for example in made(kind)}) > 0.9 * len(ROWS)
    assert all(nretm.check(example.rule, example.target) for example in made(kind))
    assert all(nretm.parse(str(example.rule)) == example.rule for example in made(kind))


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != LONG])
def test_every_rule_has_a_witness_in_the_demos_room(kind):
    """A story that obeys is known, so that a refusal would be a gap of the search."""
    reader = reader_for(reproduction.data.builtin_tokenizer(), nretm.Policy())
    automata = [automaton_for(example.rule, reader) for example in made(kind)[:100]]
    assert None not in [witnesses_for(automaton).length(automaton.start, 100) for automaton in automata]


@pytest.mark.parametrize("kind", KINDS)
def test_sizes_and_shapes(kind):
    rules = [example.rule for example in made(kind)]
    sizes = {len(rule.literals) for rule in rules}
    assert sizes == set(LONG_LITERALS) if kind == LONG else sizes <= set(range(1, MOST_LITERALS + 1))
    assert {name for rule in rules for name in shape(rule)} == ({kind} if kind in UNSEEN else set())
    if kind in UNSEEN:
        assert all(shape(rule) for rule in rules)


def predicates(examples):
    return [predicate_of(literal) for example in examples for literal in example.rule.literals]


def test_the_mixture_has_every_predicate_and_every_number_of_literals():
    found = predicates(made("any"))
    assert {type(predicate) for predicate in found} == {
        InSen, Copy, Order, nretm.Count, nretm.WordAt, nretm.BeginsWith, nretm.Sentences, Len, StopWordCount}
    for kind in (Len, StopWordCount):
        assert {str(predicate.k) for predicate in found if isinstance(predicate, kind)} == {
            "None", "every", "1", "2", "3", "4", "5"}
    assert {len(example.rule.literals) for example in made("any")} == set(range(1, MOST_LITERALS + 1))


def test_ranges_are_drawn_as_the_profile_says():
    """Of Len and StopWordCount outside of Table 1's shapes; those of every sentence are always ranges."""
    counts = [predicate.n for kind in (*UNSEEN, LONG) for predicate in predicates(made(kind))
              if isinstance(predicate, Len | StopWordCount) and not isinstance(predicate.k, Every)]
    ranged = [n for n in counts if isinstance(n, Range)]
    assert abs(len(ranged) / len(counts) - SHARES.ranges) < 0.05
    assert {(n.low > 0, n.high is not None) for n in ranged} == {(True, True), (True, False), (False, True)}


def test_shapes_of_table_1_are_drawn_as_the_profile_says():
    none, all_r1 = ({**dict.fromkeys(any_rules.TEMPLATES, 0.0), "r1": share} for share in (0.0, 1.0))
    drawn = {name: any_rules.prepare(ROWS[:60], "any", "dev", 0, replace(SHARES, templates=templates))[0]
             for name, templates in {"none": none, "r1": all_r1}.items()}
    shapes = {name: Counter(tuple(type(p) for p in predicates([example])) for example in examples)
              for name, examples in drawn.items()}
    assert shapes["r1"][InSen, InSen, Len, Len] > 55 > 10 > shapes["none"][InSen, InSen, Len, Len]


def test_a_story_that_was_cut_is_asked_for_by_its_number_of_sentences():
    whole = {name: " ".join(sentences) for name, sentences in ROWS}
    cut = [example for example in made("any") if example.target != whole[example.id]]
    assert len(cut) > 0.03 * len(made("any"))
    for example in cut:
        assert whole[example.id].startswith(example.target)
        numbers = [p.n for p in predicates([example]) if isinstance(p, nretm.Sentences)]
        assert numbers and not nretm.check(f"Sentences({numbers[0]})", whole[example.id])


def test_a_story_without_full_stops_is_one_sentence_however_it_is_cut():
    rows = [(name, [sentence.rstrip(".!?") for sentence in sentences]) for name, sentences in ROWS[:60]]
    examples = any_rules.prepare(rows, "any", "train", 0, replace(SHARES, shortened=1.0, ranges=1.0))[0]
    assert examples and all(nretm.check(example.rule, example.target) for example in examples)


def test_what_must_not_occur_is_tempting():
    """Most of it is of the story's own theme; of random words, a sixth would be."""
    themes = {word: theme for theme, events in builtin_stories.THEMES.items() for event in events
              for word in event.split() if word not in nretm.Policy().stop_words}
    own = Counter(theme_of(example.target, themes) == theme_of(literal.rule.w, themes)
                  for example in made("any-two-negations") for literal in example.rule.literals
                  if isinstance(literal, Not) and isinstance(literal.rule, Copy) and theme_of(literal.rule.w, themes))
    assert own.total() > 100 and own[True] > 0.6 * own.total()


def theme_of(text, themes):
    return next((themes[word] for word in nretm.rules.Text(text).words() if word in themes), None)


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
