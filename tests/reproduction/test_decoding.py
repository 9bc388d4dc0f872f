"""From generated tokens to texts."""

import pytest

import reproduction.data
from reproduction.decoding import phrase_tokens, texts, word_boundaries
from reproduction.tasks import TASKS


def test_documents_keep_their_separators():
    tokenizer = reproduction.data.builtin_document_tokenizer()
    target = reproduction.data.load("ted15", "test", size=1)[0].target
    ids = tokenizer(text_target=target).input_ids
    assert texts([ids], tokenizer, "</s>") == [target]


def test_word_boundaries():
    tokenizer = reproduction.data.builtin_tokenizer()
    mask = word_boundaries(tokenizer, len(tokenizer))
    ids = tokenizer.convert_tokens_to_ids
    assert mask[ids("▁then")] and mask[ids(".")] and mask[ids("</s>")] and not mask[ids("s")]


def test_what_grid_beam_search_must_place():
    tokenizer, task = reproduction.data.builtin_tokenizer(), TASKS["commongen"]
    example = task.load("test", "copy", size=1)[0]
    assert [tokenizer.decode(ids) for ids in phrase_tokens(task, example, tokenizer)] == task.phrases(example)
    with pytest.raises(ValueError, match="needs phrases to place, which rocstories does not have"):
        phrase_tokens(TASKS["rocstories"], example, tokenizer)
