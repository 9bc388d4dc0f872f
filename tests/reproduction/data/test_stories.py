"""Storylines and the rules made of them."""

import os
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

import nretm
import reproduction.data
from nretm.rules import Len, Order, StopWordCount
from nretm.rules.formula import Not, Or
from nretm.text.policy import Policy
from reproduction.data.stories import LONGEST_PHRASE, RULES, facts, prepare

STORY = ("The shy baker opened a small shop. Dr. Wells didn't like her bread! The baker bought a stone oven. "
         "Her neighbours waited in line forever. Now Dr. Wells eats warm rolls every morning.")
STORIES = reproduction.data.rows("rocstories", "train", size=400)


@cache
def made(rule, split="train", seed=0):
    return prepare(STORIES, rule, split, seed)[0]


def test_storyline():
    found = facts(STORY)
    assert found.phrases == (("shy baker opened", "small shop"), ("like", "bread"), ("baker bought", "stone oven"),
                             ("neighbours waited", "line forever"), ())  # the last is one run of seven words
    assert found.words == (8, 8, 7, 7, 9)
    assert found.stop_words == (2, 2, 2, 2, 1)


def test_phrases_stand_in_one_sentence_are_short_and_made_of_words():
    other = "Ann's cat ran off. Ann didn't see the cat. It's 5 p.m. now. Ann cried! The cat slept."
    for found in map(facts, (STORY, other)):
        phrases = [phrase for mine in found.phrases for phrase in mine]
        assert "dr." not in phrases and "n't" not in " ".join(phrases) and "cat" not in phrases
        assert all(len(phrase.split()) <= LONGEST_PHRASE for phrase in phrases)


def test_sentences_are_those_of_the_policy():
    text = "He asked why. \"Go!\" said Mr. Li. He went to St. Mary Street at 5.30 today. All was closed... He slept."
    assert len(facts(text).words) == len(Policy().sentences_of(text))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("split", ["train", "test"])
def test_every_rule_is_satisfied_by_its_own_story(rule, split):
    examples = made(rule, split)
    assert len(examples) > 0.5 * len(STORIES)  # not every sentence has a phrase of three words or fewer
    assert all(nretm.check(example.rule, example.target) for example in examples[:150])
    assert all(example.source == "" and example.references == (example.target,) for example in examples)


def test_forms_of_the_rules():
    def shape(rule):
        return [type(part).__name__ if not isinstance(part, Not) else "Not" for part in made(rule)[0].rule.parts]

    assert shape("insen") == shape("zeroshot") == ["InSen", "InSen"]
    assert shape("order") == ["Order"] * 3
    assert shape("r1") == ["InSen", "InSen", "Len", "Len"]
    assert shape("r2") == ["InSen", "Or", "Not", "InSen"]
    assert shape("r3") == ["Or", "Or", "InSen", "InSen"]


def test_order_is_a_chain_in_the_order_of_the_story():
    for example in made("order")[:100]:
        a, b, c = example.rule.parts
        assert (a.b, b.b) == (b.a, c.a)
        assert len({a.a, a.b, b.b, c.b}) == 4 and all(isinstance(part, Order) for part in (a, b, c))


def test_r1_has_the_lengths_of_its_two_sentences():
    for example in made("r1")[:100]:
        first, second, last, length = example.rule.parts
        assert (first.k, second.k) == (length.k, last.k) and first.k < second.k
        assert isinstance(length, Len) and length.n == facts(example.target).words[length.k - 1]


def test_r2_forbids_a_phrase_of_another_sentence():
    for example in made("r2")[:200]:
        first, clause, absent, second = example.rule.parts
        assert clause.parts[0].k == first.k and absent.rule.k == second.k
        assert nretm.check(nretm.Copy(absent.rule.w), example.target)
        assert absent.rule.w not in (first.w, second.w)


@pytest.mark.parametrize("rule", ["r2", "r3"])
def test_or_clauses_are_satisfied_in_thirds(rule):
    examples = made(rule)
    for place in range(2 if rule == "r3" else 1):
        kinds = Counter()
        for example in examples:
            clause = [part for part in example.rule.parts if isinstance(part, Or)][place]
            about = facts(example.target)
            words, stops = clause.parts
            assert isinstance(words, Len) and isinstance(stops, StopWordCount)
            kinds[words.n == about.words[words.k - 1], stops.n == about.stop_words[stops.k - 1]] += 1
        counts = [kinds[kind] for kind in ((True, False), (False, True), (True, True))]
        assert sum(counts) == len(examples) and max(counts) - min(counts) <= 1


def test_exactly_the_intended_literals_hold():
    for example in made("r3")[:100]:
        about, verdict = facts(example.target), nretm.check(example.rule, example.target).by_predicate
        for literal, holds in verdict.items():
            match literal:
                case Len():
                    assert holds == (literal.n == about.words[literal.k - 1])
                case StopWordCount():
                    assert holds == (literal.n == about.stop_words[literal.k - 1])
                case _:
                    assert holds


def test_zeroshot_trains_on_3_4_5_and_tests_on_1_2():
    places = {split: Counter(part.k for example in made("zeroshot", split) for part in example.rule.parts)
              for split in ("train", "dev", "test")}
    assert set(places["train"]) == set(places["dev"]) == {3, 4, 5} and set(places["test"]) == {1, 2}


def test_sentences_are_chosen_evenly():
    places = Counter(part.k for example in made("insen") for part in example.rule.parts)
    assert set(places) == {1, 2, 3, 4, 5} and min(places.values()) > 0.6 * max(places.values())


def test_rules_depend_on_the_seed_and_on_nothing_else():
    assert made("r3") == prepare(STORIES, "r3", "train", 0)[0] != made("r3", seed=1)


def test_stories_with_too_few_phrases_are_left_out_and_counted():
    stories = [*STORIES[:5], ("dull", ["He did."] * 5)]
    examples, left_out = prepare(stories, "insen", "train")
    assert len(examples) == 5 and list(left_out.values()) == [1]


def test_two_stories_may_have_one_id():
    assert len(prepare([("same", STORIES[0][1]), ("same", STORIES[1][1])], "insen", "train")[0]) == 2


def test_unknown_rule():
    with pytest.raises(ValueError, match="choose one of insen, order, r1"):
        prepare(STORIES[:1], "r9", "train")


@pytest.mark.skipif("NRETM_DATA" not in os.environ, reason="NRETM_DATA names no folder with real data")
def test_real_stories():
    folder = Path(os.environ["NRETM_DATA"])
    examples = reproduction.data.load("rocstories", "test", "r3", folder)
    assert examples.provenance.rows == examples.provenance.paper == 1_871 and len(examples) > 1_850
    assert all(nretm.check(example.rule, example.target) for example in examples[:400])
