"""A tokenizer learned from a text: it writes every text back, keeps signs and numbers whole, and is the same again."""

import random

import pytest

import nretm
import reproduction.data
from reproduction.data.learned_tokens import SPECIAL, learned_tokenizer

TEXTS = reproduction.data.corpus("rocstories")[:400] + [
    'She said "I don\'t know (yet)."', "A well-known man, aged 45, paid $3.50 - or more!", "Isn't it? It's hers..."]


@pytest.fixture(scope="module")
def tokenizer():
    return learned_tokenizer(TEXTS, 600)


def test_it_writes_back_what_it_read(tokenizer):
    for text in TEXTS:
        assert tokenizer.decode(tokenizer(text).input_ids, skip_special_tokens=True) == text


WORDS = "the boy's dog - didn't, (never) 17 30. 2024 well-known \"so\" it!".split()


def test_any_words_of_known_letters_come_back(tokenizer):
    rng = random.Random(0)
    for _ in range(300):
        text = " ".join(rng.choices(WORDS, k=rng.randint(1, 9)))
        assert tokenizer.decode(tokenizer(text).input_ids, skip_special_tokens=True) == text


def test_signs_and_numbers_are_pieces_of_their_own(tokenizer):
    rule = "InSen(boat, 2) & (Len(3, 16) || StopWordCount(3, 8)) & (not InSen(dog, 3))"
    for sign in ("▁InSen", "▁Len", "▁StopWordCount", "▁&", "▁||", "▁16", "▁not", "▁("):
        assert sign in tokenizer.tokenize(rule)
    assert tokenizer.tokenize("2 N 1 -3 1 16") == ["▁2", "▁N", "▁1", "▁-", "▁3", "▁1", "▁16"]


def test_words_are_cut_into_the_fewest_pieces(tokenizer):
    vocabulary = tokenizer.get_vocab()
    for text in TEXTS[:50]:
        for word in text.split():
            if "▁" + word in vocabulary:
                assert tokenizer.tokenize(word) == ["▁" + word]


def test_the_same_texts_make_the_same_tokenizer(tokenizer):
    again = learned_tokenizer(TEXTS, 600)
    assert again.get_vocab() == tokenizer.get_vocab() and len(again) <= 600
    assert tokenizer.convert_ids_to_tokens(range(len(SPECIAL))) == SPECIAL


def test_it_tracks_as_the_checker_judges(tokenizer):
    for text in TEXTS:
        for rule in ("Len(1, 6) & Len(2, 8)", "StopWordCount(1, 2)", "Len(1, 9)"):
            state = nretm.Tracker(rule, tokenizer).states(tokenizer(text).input_ids)[-1]
            assert (state.verdict == "satisfied") == nretm.check(rule, text).satisfied
