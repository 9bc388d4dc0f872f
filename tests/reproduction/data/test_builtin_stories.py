"""The built-in stories: what a fair small model of ROCStories has to be."""

import os
import subprocess
import sys
from collections import Counter, defaultdict
from functools import cache

import numpy as np
import pytest

from nretm.text.policy import Policy, treebank
from reproduction.data import builtin_stories as built
from reproduction.data.stories import facts

STORIES = built.stories("train", 3_000)
STOP_WORDS = Policy().stop_words


@cache
def measured():
    """(sentence number, event's verb, words, stop words) of every sentence."""
    verbs = {event.split()[0] for events in built.THEMES.values() for event in events}
    cut = [(place, treebank(sentence.lower())) for story in STORIES for place, sentence in enumerate(story, 1)]
    return [(place, (verbs & set(words)).pop(), len(words), sum(word in STOP_WORDS for word in words))
            for place, words in cut]


def test_five_sentences_of_4_to_16_words_as_the_policy_counts():
    assert all(Policy().sentences_of(" ".join(story)) == story and len(story) == 5 for story in STORIES)
    lengths = Counter(words for _, _, words, _ in measured())
    assert set(lengths) == set(range(4, 17))
    assert min(lengths.values()) > 200


def test_splits_are_disjoint_and_hold_nothing_twice():
    splits = [built.stories("dev"), built.stories("test"), STORIES]
    assert list(map(len, splits)) == [500, 500, 3_000]
    texts = [" ".join(story) for split in splits for story in split]
    assert len(set(texts)) == len(texts)


def test_train_size_does_not_change_dev_test_or_the_first_stories():
    assert built.stories("train", 10) == STORIES[:10]
    assert built.stories("test", 5) == built.stories("test")[:5]


def test_another_seed_tells_other_stories():
    assert not {tuple(s) for s in built.stories("dev", 100, seed=1)} & {tuple(s) for s in built.stories("dev", 100)}


def test_same_in_every_process():
    code = "from reproduction.data.builtin_stories import stories; print(stories('train', 3))"
    printed = {subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                           env=os.environ | {"PYTHONHASHSEED": seed}).stdout for seed in ("1", "2")}
    assert printed == {f"{STORIES[:3]}\n"}


def test_words_of_an_event_stand_in_one_sentence_only():
    words = {word for events in built.THEMES.values() for event in events for word in event.split()} - STOP_WORDS
    for story in STORIES[:500]:
        found = Counter(word for sentence in story for word in set(treebank(sentence.lower())) & words)
        assert set(found.values()) == {1}


def test_every_storyline_phrase_has_a_word_of_an_event():
    words = {word for events in built.THEMES.values() for event in events for word in event.split()} - STOP_WORDS
    phrases = [phrase for story in STORIES[:500] for found in facts(" ".join(story)).phrases for phrase in found]
    assert len(phrases) > 3_000
    assert all(words & set(phrase.split()) for phrase in phrases)


def test_neither_place_nor_length_nor_stop_words_depend_on_the_event():
    by_verb = defaultdict(list)
    for place, verb, words, stops in measured():
        by_verb[verb].append((place, words, stops))
    assert len(by_verb) == 48
    everywhere = np.array([row for rows in by_verb.values() for row in rows])
    for rows in by_verb.values():
        error = everywhere.std(0) / len(rows) ** 0.5
        assert (abs(np.mean(rows, 0) - everywhere.mean(0)) < 4.5 * error).all()
        assert {place for place, _, _ in rows} == {1, 2, 3, 4, 5}


def test_length_does_not_depend_on_the_place():
    lengths = defaultdict(list)
    for place, _, words, _ in measured():
        lengths[place].append(words)
    means = [np.mean(lengths[place]) for place in range(1, 6)]
    assert max(means) - min(means) < 0.4


def test_stop_words_vary_at_every_length():
    stops = defaultdict(set)
    for _, _, words, number in measured():
        stops[words].add(number)
    assert [len(stops[words]) >= 4 for words in range(7, 17)] == [True] * 10


def test_fillers_of_a_kind_cost_the_same():
    assert all(len({built.cost(filler) for filler in fillers}) == 1
               for kinds, _ in built.SLOTS for fillers in kinds)


def test_small_vocabulary():
    vocabulary = built.vocabulary()
    assert len({word.lower() for word in vocabulary}) < 250
    words = {word for story in STORIES[:500] for sentence in story for word in treebank(sentence)}
    assert words - set(".,!") <= set(vocabulary)


def test_unknown_split():
    with pytest.raises(ValueError, match="choose train, dev or test"):
        built.stories("valid")
