"""Diverse beam search against transformers' own beam search, where the two must agree."""

import pytest
import tiny
import torch

from nretm.modeling.diverse_beams import diverse_beam_search

COMMON = {"max_new_tokens": 12, "return_dict_in_generate": True, "output_scores": True}


@pytest.mark.parametrize("early_stopping", [True, False])
@pytest.mark.parametrize("length_penalty", [1.0, 0.5])
def test_one_group_is_beam_search(early_stopping, length_penalty):
    model = tiny.plain("T5")
    model.lm_head.weight.data[tiny.tokenizer.eos_token_id] *= 3  # so that beams do end
    settings = COMMON | {"num_beams": 4, "num_return_sequences": 4, "early_stopping": early_stopping,
                         "length_penalty": length_penalty}
    ours = model.generate(**tiny.inputs(), custom_generate=diverse_beam_search, num_beam_groups=1, **settings)
    theirs = model.generate(**tiny.inputs(), **settings)
    ended = (theirs.sequences == tiny.tokenizer.eos_token_id).cumsum(1).cumsum(1) > 1  # theirs pads with the end token
    assert ended.any() and not ended[:, -1].all()
    assert torch.equal(ours.sequences, theirs.sequences.masked_fill(ended, tiny.tokenizer.pad_token_id))
    torch.testing.assert_close(ours.sequences_scores, theirs.sequences_scores)


def test_groups_without_a_penalty_all_find_the_same():
    model = tiny.plain("T5")
    ours = model.generate(**tiny.inputs(), custom_generate=diverse_beam_search, num_beams=4, num_beam_groups=2,
                          num_return_sequences=4, **COMMON).sequences.view(3, 4, -1)
    theirs = model.generate(**tiny.inputs(), num_beams=2, num_return_sequences=2, **COMMON).sequences.view(3, 2, -1)
    assert torch.equal(ours[:, [0, 2]], theirs) and torch.equal(ours[:, [1, 3]], theirs)


def test_a_penalty_drives_the_groups_apart():
    model = tiny.equipped("T5")
    ids = model.generate(**tiny.inputs(), num_beams=4, num_beam_groups=4, diversity_penalty=50.0,
                         num_return_sequences=4, max_new_tokens=6, min_new_tokens=6).view(3, 4, -1)
    for row in ids.tolist():
        for step in range(1, 7):
            assert len({beam[step] for beam in row}) == 4


def test_bad_groups():
    with pytest.raises(ValueError, match="not 5 beams in 2 groups"):
        tiny.equipped("T5").generate(**tiny.inputs(), num_beams=5, num_beam_groups=2, max_new_tokens=3)
