"""Token ids to text, for every kind of tokenizer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kinds import CORPUS, KINDS, tokenizer
from strategies import texts, thorough

from nretm import Policy
from nretm.tracking.growing_text import TextReader
from nretm.tracking.token_bytes import TokenBytes


@thorough
@given(st.one_of(texts, st.sampled_from(CORPUS)), st.sampled_from(KINDS))
def test_the_text_is_what_the_tokenizer_decodes(text, kind):
    tok = tokenizer(kind)
    ids = tok(text)["input_ids"]
    decoded = tok.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)
    assert TextReader(tok, Policy()).text(ids).split() == decoded.split()


@pytest.mark.parametrize("kind", ["byte-bpe", "unigram-bytes"])
def test_a_character_that_is_cut_over_tokens_is_put_together(kind):
    tok = tokenizer(kind)
    ids = tok("a 🐘 b", add_special_tokens=False)["input_ids"]
    assert len(ids) > 5 and TextReader(tok, Policy()).text(ids) == "a 🐘 b"
    assert "\ufffd" in TextReader(tok, Policy()).text(ids[:-2])


def test_special_tokens_are_nothing_and_leading_spaces_are_spaces():
    pieces = TokenBytes(tokenizer("unigram"))
    tok = tokenizer("unigram")
    assert [pieces[i] for i in tok.all_special_ids] == [None] * len(tok.all_special_ids)
    assert pieces[tok.convert_tokens_to_ids("▁the")] == b" the"
