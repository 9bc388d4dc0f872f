"""Words as tokens, for state matrices without a model."""

import pytest
from hypothesis import given
from strategies import policies, rules, texts, thorough

import nretm
from nretm.tracking import Tracker, WordTokenizer, matrix_of


@thorough
@given(texts)
def test_tokens_spell_the_text_again(text):
    tokens = WordTokenizer()
    spelled = "".join(map(tokens.convert_ids_to_tokens, tokens(text)["input_ids"]))
    assert spelled.replace("▁", " ") == text.rstrip().replace("▁", " ")


def test_words_stay_whole():
    tokens = WordTokenizer()
    ids = tokens("It's 3.5 well-known U.S. cars, no?")["input_ids"]
    words = [tokens.convert_ids_to_tokens(i).strip("▁") for i in ids]
    assert words == ["It's", "3.5", "well-known", "U.S", ".", "cars", ",", "no", "?"]


@thorough
@given(rules, texts.filter(lambda text: "▁" not in text), policies)
def test_the_last_column_agrees_with_the_checker(rule, text, policy):
    verdict = nretm.check(rule, text, policy=policy)
    matrix = nretm.state_matrix(rule, text, policy=policy)
    assert {literal: shown[-1].shade == "2" for literal, (_, shown) in matrix.panels.items()} == verdict.by_predicate


def test_it_works_in_a_tracker_and_ids_need_a_tokenizer():
    tokens = WordTokenizer()
    tracker = Tracker("InSen(car, 1) & Len(1, 4)", tokens)
    ids = [*tokens("A red car.")["input_ids"], tokens.eos_token_id]
    assert tracker.states(ids)[-1].verdict == "satisfied"
    assert matrix_of(tracker, ids).outputs == ("ε", "A", "red", "car", ".", "</s>")
    with pytest.raises(TypeError, match="token ids mean nothing without their tokenizer"):
        nretm.state_matrix("Copy(car)", ids)
