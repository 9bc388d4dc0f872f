"""What a base begins with: before any training, the start does what its docstring says."""

import pytest
import torch
from transformers import set_seed

from reproduction import pretraining
from reproduction.data.learned_tokens import learned_tokenizer

NUMBERED = ("went to the park<extra_id_3> her friends<extra_id_1> was a sad day for the dog<extra_id_2> "
            "happy<extra_id_5> home<extra_id_4>")
STORY = ("Ann had her friends over. It was a sad day for the dog! She went to the park to play. They went home. "
         "She was happy.")
FRAGMENTS = ["her friends", "was a sad day for the dog", "went to the park", "home", "happy"]


@pytest.fixture(scope="module")
def started():
    tokenizer = learned_tokenizer([NUMBERED.replace("<", " <"), STORY] * 3, 400)
    set_seed(0)
    model = pretraining.new_model(pretraining.MODELS["mini-t5"], tokenizer).eval()
    model.set_attn_implementation("eager")
    source, target = (tokenizer(text, return_tensors="pt").input_ids for text in (NUMBERED, STORY))
    shifted = model._shift_right(target)
    with torch.no_grad():
        attentions = model(input_ids=source, decoder_input_ids=shifted, output_attentions=True).cross_attentions
    return tokenizer, source[0].tolist(), shifted[0].tolist(), attentions


def test_a_copying_start_looks_at_what_comes_next(started):
    tokenizer, source, written, attentions = started
    follows = {token: source[i + 1] for i, token in enumerate(source[:-1]) if source.count(token) == 1}
    found = [source[row.argmax()] == follows[token] for token, row in zip(written, attentions[0][0, 0], strict=True)
             if token in follows]
    assert len(found) >= 8 and sum(found) / len(found) > 0.9


def test_a_counting_start_looks_at_the_fragment_of_its_sentence(started):
    tokenizer, source, written, attentions = started
    masks, ends = pretraining.marks(tokenizer)
    owner, after = [], None  # of each input token, the number of the next mask
    for token in reversed(source):
        after = masks.index(token) if token in masks else after
        owner.insert(0, after)
    number, found = 1, []
    for token, row in zip(written, attentions[1][0, 3], strict=True):
        number += token in ends
        if number <= len(FRAGMENTS):
            # a mask stands right before the next fragment and has found that fragment's number
            before = [i + 1 < len(source) and source[i] in masks and owner[i + 1] == number for i in range(len(source))]
            found.append(owner[row.argmax()] == number or before[row.argmax()])
    assert len(found) > 25 and sum(found) / len(found) > 0.9
