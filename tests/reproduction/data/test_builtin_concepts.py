"""The built-in concept sets: what a fair small model of CommonGen has to be."""

from collections import Counter

import pytest

from nretm.rules.checker import check
from nretm.rules.inflection import inflected
from nretm.text.policy import treebank
from reproduction.data import builtin_concepts as built
from reproduction.data.concepts import copies

TRAIN, DEV, TEST = (built.sets(split) for split in ("train", "dev", "test"))


def test_sizes():
    assert [len(TRAIN), len(DEV), len(TEST)] == [5_000, 200, 300]
    assert set(Counter(len(concepts) for concepts, _ in TRAIN)) == {3, 4, 5}
    assert {len(references) for _, references in DEV + TEST} == {4}
    assert {len(references) for _, references in TRAIN} == {1, 2, 3, 4}


def test_no_set_and_no_sentence_twice():
    sets = [frozenset(concepts) for concepts, _ in TRAIN + DEV + TEST]
    sentences = [reference for _, references in TRAIN + DEV + TEST for reference in references]
    assert len(set(sets)) == len(sets) and len(set(sentences)) == len(sentences)


def test_novel_concepts_are_in_dev_and_test_only():
    trained = {concept for concepts, _ in TRAIN for concept in concepts}
    tested = Counter(concept for concepts, _ in DEV + TEST for concept in concepts)
    assert set(tested) - trained == built.NOVEL
    assert 0.05 < sum(tested[concept] for concept in built.NOVEL) / tested.total() < 0.2


def test_references_tell_all_concepts_but_for_a_few_in_training():
    def share(sets):
        whole = [bool(check(inflected(copies(concepts)), reference)) for concepts, references in sets
                for reference in references]
        return sum(whole) / len(whole)

    assert share(DEV) == share(TEST) == 1
    assert 0.95 < share(TRAIN[:1_000]) < 1


def test_mentions_are_inflected_more_often_than_not():
    plain = [bool(check(copies(concepts), reference)) for concepts, references in TEST for reference in references]
    assert 0.1 < sum(plain) / len(plain) < 0.4  # 0.19 to 0.36 in CommonGen


def test_order_of_concepts_says_nothing():
    nouns = set(built.PEOPLE)
    assert 0.2 < sum(concepts[0] in nouns for concepts, _ in TRAIN) / len(TRAIN) < 0.32


def test_vocabulary_is_complete_in_either_case():
    words = {word for _, references in TRAIN + DEV + TEST for reference in references
             for word in (*treebank(reference), *treebank(reference.lower()))}
    assert words - set(",.") <= set(built.vocabulary())
    assert len(built.vocabulary()) < 300


def test_wider_sentences_have_novel_words_but_tell_of_no_set_of_dev_or_test():
    wider = built.wider(size=500)
    assert len(set(wider)) == 500
    sentences = {reference for _, references in DEV + TEST for reference in references}
    assert not sentences & set(wider)
    words = Counter(word for text in wider for word in set(treebank(text.lower())))
    assert all(words[concept] for concept in ("nurse", "ladder", "bridge"))


def test_seeds_and_sizes():
    assert built.sets("train", 7) == TRAIN[:7]
    assert built.sets("dev", 20, seed=1) != DEV[:20]
    with pytest.raises(ValueError, match="choose train, dev or test"):
        built.sets("valid")
