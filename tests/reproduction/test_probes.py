"""What needs trained weights is stored, and read back without them."""

import json

import pytest
import torch
from transformers import T5Config, T5ForConditionalGeneration

import nretm
import reproduction.data
from reproduction import probes
from reproduction.experiments import EXPERIMENTS, experiment_named
from reproduction.settings import settings_for
from reproduction.tasks import TASKS


@pytest.fixture
def trained():
    tokenizer = reproduction.data.builtin_tokenizer()
    torch.manual_seed(0)
    model = T5ForConditionalGeneration(T5Config(
        vocab_size=len(tokenizer), d_model=16, d_kv=4, d_ff=16, num_layers=1, num_heads=4, pad_token_id=0,
        eos_token_id=1, decoder_start_token_id=0))
    for weights in nretm.equip(model, tokenizer).nretm.parameters():
        torch.nn.init.normal_(weights, std=5.0)  # as if trained: the state matrix matters
    return model, tokenizer


def settings(experiment):
    return settings_for("smoke", experiment, test_size=6, max_new_tokens=8, beams=1)


@pytest.mark.parametrize("name", [name for name, experiment in EXPERIMENTS.items() if experiment.probe])
def test_what_is_stored_is_what_was_found(name, trained, tmp_path):
    experiment = experiment_named(name)
    rows = probes.PROBES[experiment.probe](*trained, experiment, settings(experiment))
    assert rows and probes.read(tmp_path, name) == []
    probes.write(tmp_path, experiment, 0, rows, {"command": "python -m …"})
    assert probes.read(tmp_path, name) == json.loads(json.dumps(rows))


def test_second_phrases_are_those_of_their_sentence():
    test = TASKS["rocstories"].load("test", "zeroshot", size=20)
    for place in (2, 3, 4, 5):
        for example in probes._second_in(test, place):
            first, second = example.rule.literals
            assert first.k == 1 and second.k == place and nretm.check(example.rule, example.target)
