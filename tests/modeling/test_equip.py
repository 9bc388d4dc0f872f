"""equip, freeze, save and load, and that training tools work on an equipped model."""

import copy
import json

import pytest
import tiny
import torch
import transformers
from safetensors.torch import load_model
from transformers import Seq2SeqTrainer, Seq2SeqTrainingArguments

import nretm
from nretm.modeling.equip import FAMILIES, count


@pytest.fixture
def batch():
    return nretm.Collator(tiny.equipped("T5"))(tiny.ROWS)


@pytest.mark.parametrize("family", tiny.FAMILIES)
def test_with_projections_at_zero_it_is_the_plain_model(family):
    model, plain = tiny.equipped(family, trained=False), tiny.plain(family)
    batch = nretm.Collator(model)(tiny.ROWS)
    same = {name: batch[name] for name in ("input_ids", "attention_mask", "labels")}
    ours, theirs = model(**batch), plain(**same)
    torch.testing.assert_close(ours.logits, theirs.logits, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(ours.loss, theirs.loss, rtol=1e-6, atol=1e-6)
    assert torch.equal(model(**same).logits, theirs.logits)  # without states: bit for bit


def test_every_family_of_the_table_is_tested():
    assert {tiny.plain(family).config.model_type for family in tiny.FAMILIES} == set(FAMILIES)


def test_it_stays_the_class_it_was():
    model, plain = tiny.equipped("T5"), tiny.plain("T5")
    assert isinstance(model, type(plain)) and type(model).__name__ == type(plain).__name__
    assert type(model) is type(tiny.equipped("T5"))
    assert model.config.to_dict() == plain.config.to_dict()


@pytest.mark.parametrize("family", tiny.FAMILIES)
def test_refusals(family):
    model = tiny.equipped(family)
    with pytest.raises(ValueError, match="already equipped"):
        nretm.equip(model, tiny.tokenizer)


def test_more_refusals():
    config = transformers.GPT2Config(n_layer=1, n_embd=8, n_head=1, vocab_size=500)
    with pytest.raises(ValueError, match="no cross-attention"):
        nretm.equip(transformers.GPT2LMHeadModel(config), tiny.tokenizer)
    with pytest.raises(ValueError, match="no cross-attention"):
        nretm.equip(torch.nn.Linear(2, 2), tiny.tokenizer)
    with pytest.raises(ValueError, match="not the model's tokenizer: it has 420 tokens, the model embeds 100"):
        nretm.equip(tiny.plain("T5", vocab_size=100), tiny.tokenizer)
    with pytest.raises(ValueError, match="its eos_token_id is 1, the model's is 7"):
        nretm.equip(tiny.plain("T5", eos_token_id=7), tiny.tokenizer)
    with pytest.raises(ValueError, match="One attention head is 6 wide"):
        nretm.equip(tiny.plain("T5", d_kv=6), tiny.tokenizer)
    other = transformers.BlenderbotSmallConfig(vocab_size=430, d_model=16, encoder_layers=1, decoder_layers=1,
                                               pad_token_id=0, eos_token_id=1)
    with pytest.raises(ValueError, match="'blenderbot-small' are not known: add a line to nretm.modeling.FAMILIES"):
        nretm.equip(transformers.BlenderbotSmallForConditionalGeneration(other), tiny.tokenizer)
    flex = tiny.plain("T5", attn_implementation="flex_attention")
    with pytest.raises(ValueError, match="attention by 'flex_attention'"):
        nretm.equip(flex, tiny.tokenizer)


def test_t5_base_gains_at_most_0_9_percent(capsys):
    with torch.device("meta"):
        config = transformers.T5Config(d_model=768, d_kv=64, d_ff=3072, num_layers=12, num_heads=12)
        model = nretm.equip(transformers.T5ForConditionalGeneration(config), tiny.tokenizer)
    counts = nretm.freeze(model)
    assert counts.total - counts.added == 222_903_552  # T5-Base
    assert 0 < counts.added / (counts.total - counts.added) <= 0.009
    assert str(counts) in capsys.readouterr().out


@pytest.mark.parametrize("family", tiny.FAMILIES)
def test_freezing(family):
    model = tiny.equipped(family)
    counts = nretm.freeze(model)
    frozen = {name for name, p in model.named_parameters() if not p.requires_grad}
    trained = {name for name, p in model.named_parameters() if p.requires_grad}
    assert counts.trained == sum(p.numel() for p in model.parameters() if p.requires_grad) == count(model).trained
    cross = ("EncDecAttention", "encoder_attn", "layer.1.layer_norm")
    for name in frozen - {n for n in frozen if "embed_positions" in n}:  # sinusoids never train
        assert ".decoder." in "." + name and not any(part in name for part in cross) or any(
            part in name for part in ("shared", "embed_tokens", "lm_head")), name
    for name in trained:
        assert "decoder." not in name or any(part in name for part in cross) or any(
            part in name for part in ("decoder.final_layer_norm", "layernorm_embedding", "decoder.layer_norm",
                                      "embed_positions")), name
    decoder_layers = [n for n in frozen if "SelfAttention" in n or "self_attn" in n or "fc1" in n or "DenseRelu" in n]
    assert len(decoder_layers) >= 8
    assert all(p.requires_grad for n, p in model.nretm.named_parameters() if "embed_positions" not in n)


def test_freezing_the_baseline_trains_the_same_parameters():
    equipped, plain = tiny.equipped("T5"), tiny.plain("T5")
    nretm.freeze(equipped), nretm.freeze(plain)
    theirs = {name for name, p in plain.named_parameters() if p.requires_grad}
    ours = {name for name, p in equipped.named_parameters() if p.requires_grad and not name.startswith("nretm.")}
    assert ours == theirs


@pytest.mark.parametrize("trained", [False, True])
@pytest.mark.parametrize("family", ["T5", "MBart", "Marian"])
def test_save_and_load(family, trained, tmp_path):
    model = tiny.equipped(family)
    model.nretm.options = type(model.nretm.options)(tiny.tokenizer, nretm.Policy(words="no-punctuation"), False)
    nretm.freeze(model)
    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.data += 0.01
    nretm.save(model, tmp_path / "a", trained=trained)
    assert {p.name for p in (tmp_path / "a").iterdir()} == {"nretm.safetensors", "nretm.json"}
    assert json.loads((tmp_path / "a/nretm.json").read_text())["nretm"] == nretm.__version__
    for fresh in (nretm.load(tiny.equipped(family, trained=False), tmp_path / "a"),
                  nretm.load(tiny.plain(family), tmp_path / "a", tiny.tokenizer)):  # equipped on the way
        assert fresh.nretm.options == model.nretm.options
        for (name, a), (_, b) in zip(model.named_parameters(), fresh.named_parameters(), strict=True):
            saved = name.startswith("nretm.") or (trained and a.requires_grad) or not a.requires_grad
            assert torch.equal(a, b) == saved, name


def test_what_does_not_fit_is_refused(tmp_path):
    nretm.save(tiny.equipped("T5"), tmp_path)
    for model, message in [(tiny.equipped("Bart"), "fits another model.*type = t5"),
                           (tiny.equipped("T5", num_layers=3), "fits another model.*layers = 2, this one has 3"),
                           (tiny.equipped("T5", seed=1), "fits another model.*embedding = "),
                           (tiny.plain("T5"), r"not equipped: give its tokenizer as well")]:
        with pytest.raises(ValueError, match=message):
            nretm.load(model, tmp_path)
    other = tiny.plain("T5", num_layers=3)
    with pytest.raises(ValueError, match="fits another model.*layers = 2, this one has 3"):
        nretm.load(other, tmp_path, tiny.tokenizer)
    assert not hasattr(other, "nretm")  # refused before it was touched
    with pytest.raises(ValueError, match="it has no nretm.safetensors"):
        nretm.load(tiny.equipped("T5"), tmp_path / "nowhere")
    with pytest.raises(ValueError, match="not equipped"):
        nretm.save(tiny.plain("T5"), tmp_path)


def test_a_half_precision_copy_of_the_model_still_fits(tmp_path):
    nretm.save(tiny.equipped("T5"), tmp_path)
    model = nretm.equip(tiny.plain("T5").to(torch.bfloat16), tiny.tokenizer)
    assert nretm.load(model, tmp_path).nretm.key.weight.dtype == torch.bfloat16
    assert torch.isfinite(model(**nretm.Collator(model)(tiny.ROWS)).loss)


@pytest.mark.parametrize("family", ["T5", "Bart"])
def test_gradient_checkpointing(family):
    model = tiny.equipped(family).train()
    batch = nretm.Collator(model)(tiny.ROWS)
    model(**batch).loss.backward()
    expected = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    model.zero_grad()
    model.gradient_checkpointing_enable()
    model(**batch).loss.backward()
    for name, p in model.named_parameters():
        if name in expected:
            torch.testing.assert_close(p.grad, expected[name], rtol=1e-4, atol=1e-5, msg=name)


def test_a_deep_copy_is_a_model_of_its_own(batch):
    model = tiny.equipped("T5")
    other = copy.deepcopy(model)
    expected = model(**batch).logits
    for parameter in model.parameters():
        parameter.data.zero_()
    assert torch.equal(other(**batch).logits, expected)


def test_transformers_own_save_and_load(tmp_path, batch):
    """save_pretrained writes all weights; from_pretrained reads the plain model's, and equipped it takes the rest."""
    model = tiny.equipped("T5")
    model.save_pretrained(tmp_path)
    assert json.loads((tmp_path / "config.json").read_text())["architectures"] == ["T5ForConditionalGeneration"]
    fresh = transformers.T5ForConditionalGeneration.from_pretrained(tmp_path)
    same = {name: batch[name] for name in ("input_ids", "attention_mask", "labels")}
    assert torch.equal(model(**same).logits, fresh(**same).logits)
    assert load_model(nretm.equip(fresh, tiny.tokenizer), tmp_path / "model.safetensors") == (set(), [])
    assert torch.equal(model(**batch).logits, fresh(**batch).logits)
    assert not torch.equal(model(**batch).logits, model(**same).logits)


def trainer(model, folder, **changes):
    arguments = dict(output_dir=folder, per_device_train_batch_size=3, max_steps=4, learning_rate=1e-2, report_to=[],
                     remove_unused_columns=False, save_strategy="no", logging_steps=1, disable_tqdm=True, seed=1,
                     predict_with_generate=True, generation_max_length=10, use_cpu=True)
    return Seq2SeqTrainer(model, Seq2SeqTrainingArguments(**arguments | changes), data_collator=nretm.Collator(model),
                          train_dataset=tiny.ROWS * 4, eval_dataset=tiny.ROWS)


def weights(model):
    return {name: p.detach().clone() for name, p in model.named_parameters()}


@pytest.mark.filterwarnings("ignore::nretm.modeling.RuleBroken")
def test_seq2seq_trainer_learns_checkpoints_and_resumes(tmp_path):
    model = tiny.equipped("T5", trained=False)
    run = trainer(model, tmp_path, save_strategy="steps", save_steps=2)
    run.train()
    losses = [entry["loss"] for entry in run.state.log_history if "loss" in entry]
    assert losses[-1] < losses[0] and model.nretm.key.weight.abs().max() > 0
    assert len(run.predict(tiny.ROWS).predictions) == 3 and len(model.nretm.verdicts) == 3  # with the batch's rules
    again = tiny.equipped("T5", trained=False)
    trainer(again, tmp_path / "again", save_strategy="no").train(resume_from_checkpoint=tmp_path / "checkpoint-2")
    for name, p in weights(model).items():
        torch.testing.assert_close(weights(again)[name], p, rtol=1e-5, atol=1e-6, msg=name)


@pytest.mark.slow
def test_gradient_accumulation_is_the_large_batch(tmp_path):
    rows = [row | {"target": tiny.TARGETS[0]} for row in tiny.ROWS] * 2  # of equal length: means over rows agree
    results = []
    for size, steps in ((6, 1), (3, 2), (1, 6)):
        model = tiny.equipped("T5")
        run = trainer(model, tmp_path, per_device_train_batch_size=size, gradient_accumulation_steps=steps,
                      max_steps=2, max_grad_norm=0.0, optim="sgd")
        run.train_dataset = rows
        run.train()
        results.append(weights(model))
    for other in results[1:]:
        for name, p in results[0].items():
            torch.testing.assert_close(other[name], p, rtol=1e-4, atol=1e-5, msg=name)
