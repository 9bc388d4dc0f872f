"""Rules made of concept sets."""

import os
from pathlib import Path

import pytest

import nretm
import reproduction.data
from reproduction.data.concepts import MISSED, copies, mentions, prepare, seen_concepts

ROWS = [("a", ("stand", "field", "look"), ("He STOOD in the field looking up.", "He stands in a field.")),
        ("b", ("dog", "catch", "ball"), ("The dog can catch a ball.",))]


def test_training_takes_every_reference_that_tells_all_concepts_in_lower_case():
    examples, left_out = prepare(ROWS, "copy", "train")
    targets = [example.target for example in examples]
    assert targets == ["he stood in the field looking up.", "the dog can catch a ball."]
    assert left_out == {MISSED: 1}
    assert examples[0].references == ROWS[0][2]
    assert len({example.id for example in examples}) == 2


def test_testing_takes_every_set_once():
    examples, left_out = prepare(ROWS, "copy", "test")
    assert [example.references for example in examples] == [row[2] for row in ROWS]
    assert examples[0].target == ROWS[0][2][0] and left_out == {MISSED: 0}


def test_both_rules_read_alike_and_judge_differently():
    (strict, _), (loose, _) = (prepare(ROWS, rule, "test")[0] for rule in ("copy", "inflected"))
    assert str(strict.rule) == str(loose.rule) == "Copy(stand) & Copy(field) & Copy(look)"
    assert not nretm.check(strict.rule, strict.target) and nretm.check(loose.rule, loose.target)
    assert "stood" in loose.rule.parts[0].forms


def test_references_left_out_are_the_same_for_both():
    strict, loose = (prepare(ROWS, rule, "train")[0] for rule in ("copy", "inflected"))
    assert [example.target for example in strict] == [example.target for example in loose]


def test_sets_without_references_have_an_empty_target():
    assert prepare([("c", ("dog", "run"), ())], "copy", "test")[0][0].target == ""


def test_a_single_concept():
    assert str(copies(["dog"])) == "Copy(dog)"


def test_mentions():
    found = mentions(["stand", "field", "look"], "Dogs ran. He stood in the field looking up. Stand up!")
    assert found == {"stand": (11, 4), "field": (7, 7), "look": (None, 8)}


def test_seen_concepts():
    assert seen_concepts(ROWS) == {"stand", "field", "look", "dog", "catch", "ball"}
    novel = {concept for _, concepts, _ in reproduction.data.rows("commongen", "test") for concept in concepts}
    seen = seen_concepts(reproduction.data.rows("commongen", "train"))
    assert novel - seen == reproduction.data.builtin_concepts.NOVEL


def test_unknown_rule():
    with pytest.raises(ValueError, match="choose one of copy, inflected"):
        prepare(ROWS, "r1", "train")


@pytest.mark.skipif("NRETM_DATA" not in os.environ, reason="NRETM_DATA names no folder with real data")
def test_real_sets():
    dev = reproduction.data.load("commongen", "dev", "inflected", Path(os.environ["NRETM_DATA"]))
    assert dev.provenance.rows == dev.provenance.paper == 993
    assert sum(bool(nretm.check(example.rule, example.target)) for example in dev) > 0.98 * len(dev)
