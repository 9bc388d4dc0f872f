"""Talks cut into documents."""

import os
from pathlib import Path

import pytest

import nretm
import reproduction.data
from reproduction.data.documents import POLICY, chunks, prepare

TALK = [(f"第{n}句", f"Sentence {n}.") for n in range(1, 31)]


@pytest.mark.parametrize("length, sizes", [(2, [1, 1]), (6, [3, 3]), (25, [12, 13]), (50, [25, 25]), (51, [17, 17, 17]),
                                           (98, [24, 25, 24, 25]), (201, [50, 50, 50, 51])])
def test_two_to_four_chunks_of_equal_size(length, sizes):
    parts = chunks([("中", "x")] * length)
    assert list(map(len, parts)) == sizes


def test_chunks_hold_the_talk_in_order():
    assert [pair for part in chunks(TALK, 12) for pair in part] == TALK


@pytest.mark.parametrize("length", [2, 3, 12, 13, 201])
def test_short_documents_are_as_many_as_a_talk_makes(length):
    sizes = list(map(len, chunks([("中", "x")] * length, 6, most=None)))
    assert sum(sizes) == length and max(sizes) <= 6 and max(sizes) - min(sizes) <= 1


def test_source_rule_and_target():
    examples, left_out = prepare([("t", TALK[:4])])
    assert len(examples) == 2 and left_out == {"talks of a single sentence": 0}
    first = examples[0]
    assert first.source == "第1句</s>第2句</s>"
    assert first.target == "Sentence 1.</s>Sentence 2." and first.references == (first.target,)
    assert first.source + str(first.rule) == "第1句</s>第2句</s>translateOnce(1) & translateOnce(2)"


def test_rule_is_satisfied_by_the_translation_and_not_by_one_that_merges():
    example = prepare([("t", TALK)], sentences=12)[0][0]
    assert nretm.check(example.rule, example.target, policy=POLICY)
    assert not nretm.check(example.rule, example.target.replace("</s>", " ", 1), policy=POLICY)


def test_separators_within_a_sentence_are_taken_out():
    example = prepare([("t", [("一</s>二", "One.</s> Two."), ("三\n四", "Three\n four.")])])[0][0]
    assert example.source == "一 二</s>" and example.target == "One. Two."


def test_variables_of_a_sentence_are_its_source_tokens():
    tokenizer = reproduction.data.builtin_document_tokenizer()
    example = reproduction.data.load("ted15", "dev", size=1)[0]
    sentences = example.source.count("</s>")
    tracker = nretm.Tracker(example.rule, tokenizer, source=example.source, policy=POLICY)
    begin = tokenizer(example.source.split("</s>")[0], add_special_tokens=False)["input_ids"]
    assert len(set(tracker.groups[:len(begin)].tolist())) == 1
    assert len(set(tracker.groups.tolist())) == sentences + 1


def test_a_talk_of_one_sentence_is_left_out():
    assert prepare([("short", TALK[:1])]) == ([], {"talks of a single sentence": 1})


def test_unknown_rule():
    with pytest.raises(ValueError, match="choose one of translated"):
        prepare([("t", TALK)], "copy")


def test_built_in_documents_have_3_to_12_sentences():
    sizes = {example.target.count("</s>") + 1 for example in reproduction.data.load("ted15", "train", size=300)}
    assert sizes == set(range(3, 13))


@pytest.mark.skipif("NRETM_DATA" not in os.environ, reason="NRETM_DATA names no folder with real data")
def test_real_talks():
    test = reproduction.data.load("ted15", "test", source=Path(os.environ["NRETM_DATA"]))
    assert test.provenance.rows == test.provenance.paper == 56
    assert sum(len(example.rule.literals) for example in test) == 5_473
    assert all(nretm.check(example.rule, example.target, policy=POLICY) for example in test)
