"""The tokenizers of the built-in data."""

import pytest
from transformers import AutoTokenizer

import nretm
import reproduction.data
from nretm.text.policy import treebank
from reproduction.data import builtin_concepts, builtin_documents, builtin_stories

T5, MBART = reproduction.data.builtin_tokenizer(), reproduction.data.builtin_document_tokenizer()
RULES = ["Order(planted seeds, tom milked) & Order(tom milked, gate)",
         "InSen(seeds, 3) & (Len(3, 16) || StopWordCount(3, 8)) & (not InSen(big fires, 4)) & InSen(anna lit, 4)",
         "Copy(nurse) & Copy(climb) & Copy(ladder)"]


def test_a_story_has_a_token_a_word():
    for story in builtin_stories.stories("train", 300):
        text = " ".join(story)
        ids = T5(text)["input_ids"]
        assert len(ids) == 1 + sum(len(treebank(sentence)) for sentence in story)
        assert T5.decode(ids, skip_special_tokens=True) == text and T5.unk_token_id not in ids


def test_concept_sentences_too_in_either_case():
    for _, references in builtin_concepts.sets("test"):
        for text in (*references, *map(str.lower, references)):
            assert len(T5(text)["input_ids"]) == 1 + len(treebank(text))


@pytest.mark.parametrize("rule", RULES)
def test_rules_and_texts_share_their_words(rule):
    ids = T5(rule)["input_ids"]
    assert T5.decode(ids, skip_special_tokens=True) == rule and T5.unk_token_id not in ids
    for literal in nretm.parse(rule).literals:
        for phrase in (a for a in nretm.Tracker(rule, T5).rule.literals[0].arguments if isinstance(a, str)):
            word = T5(phrase, add_special_tokens=False)["input_ids"]
            assert any(ids[i:i + len(word)] == word for i in range(len(ids))), literal


@pytest.mark.parametrize("flag, tokens", [("2 N 1 -3", 5), ("1 16", 2), ("N", 1), ("0 1 30 2", 4)])
def test_flags_have_a_token_an_entry(flag, tokens):
    assert len(T5(flag, add_special_tokens=False)["input_ids"]) == tokens
    for tokenizer in (T5, MBART):
        assert tokenizer.unk_token_id not in tokenizer(flag)["input_ids"]


def test_unknown_words_are_spelled_out():
    ids = T5("InSen(xylophone, 2) & Len(45)")["input_ids"]
    assert T5.unk_token_id not in ids
    assert T5.decode(ids, skip_special_tokens=True) == "InSen(xylophone, 2) & Len(45)"


def test_documents_end_with_language_codes():
    pairs = builtin_documents.talks("dev", 1)[0][:3]
    source = "".join(zh + "</s>" for zh, _ in pairs) + "translateOnce(1) & translateOnce(2) & translateOnce(12)"
    ids = MBART(source, text_target="</s>".join(en for _, en in pairs))
    assert MBART.convert_ids_to_tokens(ids["input_ids"][-2:]) == ["</s>", "zh_CN"]
    assert MBART.convert_ids_to_tokens(ids["labels"][-2:]) == ["</s>", "en_XX"]
    for part in ("input_ids", "labels"):
        assert MBART.unk_token_id not in ids[part] and ids[part].count(MBART.eos_token_id) == 3 + (part == "input_ids")
    rule = ids["input_ids"].index(MBART.convert_tokens_to_ids("▁translateOnce"))
    assert rule == sum(len("▁" + zh + "|") for zh, _ in pairs)  # a token a character


@pytest.mark.parametrize("tokenizer", [T5, MBART], ids=["T5", "mBART"])
def test_saved_and_loaded(tokenizer, tmp_path):
    tokenizer.save_pretrained(tmp_path)
    loaded = AutoTokenizer.from_pretrained(tmp_path)
    text = "InSen(planted seeds, 3) & Len(3, 9) 2 N 1 -3 她明天会画。"
    assert loaded(text)["input_ids"] == tokenizer(text)["input_ids"]
    assert loaded(text_target=text)["input_ids"] == tokenizer(text_target=text)["input_ids"]
