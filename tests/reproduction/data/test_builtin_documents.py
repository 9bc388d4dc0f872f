"""The built-in talks: what a fair small model of TED15 has to be."""

from collections import Counter, defaultdict

import pytest

from reproduction.data import builtin_documents as built

TRAIN, DEV, TEST = built.talks("train", 300), built.talks("dev"), built.talks("test")
PAIRS = [pair for talk in TRAIN for pair in talk]


def test_sizes():
    assert [len(DEV), len(TEST)] == [40, 60]
    assert {len(talk) for talk in TRAIN} <= set(range(6, 41))
    assert min(map(len, TRAIN)) < 8 and max(map(len, TRAIN)) > 35


def test_no_talk_twice_and_no_sentence_twice_in_a_talk():
    talks = [tuple(talk) for talk in TRAIN + DEV + TEST]
    assert len(set(talks)) == len(talks)
    assert all(len({zh for zh, _ in talk}) == len(talk) for talk in talks)


def test_chinese_in_characters_and_english_in_sentences():
    assert all(not zh.isascii() and " " not in zh for zh, _ in PAIRS)
    assert all(en.isascii() and en[0].isupper() and en.endswith(".") for _, en in PAIRS)


def test_translation_is_settled_but_for_the_subject_that_was_left_out():
    english = defaultdict(set)
    for talk in built.talks("train", 1_500):
        for zh, en in talk:
            english[zh].add(en)
    many = [translations for translations in english.values() if len(translations) > 1]
    assert many, "context never matters"
    pronouns = {"I", "We", "He", "She", "They", "i", "we", "he", "she", "they"}
    for translations in many:
        kinds = {tuple(word.rstrip(".,") for word in text.split() if word not in pronouns) for text in translations}
        assert len({len(kind) for kind in kinds}) == 1


def test_half_of_the_talks_have_no_punctuation():
    stopped = [talk[0][0].endswith("。") for talk in TRAIN]
    assert 0.4 < sum(stopped) / len(stopped) < 0.6
    assert all(zh.endswith("。") == ends for talk, ends in zip(TRAIN, stopped, strict=True) for zh, _ in talk)


def test_a_link_joins_clauses_or_opens_a_sentence():
    links = Counter((zh.find(link) == 0) for zh, _ in PAIRS for link in built.LINKS if link in zh)
    assert min(links.values()) > 0.2 * links.total()


@pytest.mark.parametrize("zh, en", [
    ("past", ("买了", "bought")), ("future", ("会买", "will buy")), ("progressive", ("正在买", "is buying"))])
def test_tenses(zh, en):
    assert built._verb("买", zh, False, True, "he") == en


def test_vocabulary_is_complete():
    characters, words = built.vocabulary()
    assert {character for zh, _ in PAIRS for character in zh} <= set(characters)
    assert {word.rstrip(".,") for _, en in PAIRS for word in en.split()} <= set(words)
    assert len(characters) < 120 and len({word.lower() for word in words}) < 160


def test_seeds_and_sizes():
    assert built.talks("train", 3) == TRAIN[:3]
    assert built.talks("dev", 3, seed=1) != DEV[:3]
    with pytest.raises(ValueError, match="choose train, dev or test"):
        built.talks("valid")
