"""Particles: what they add up is the model's own, copies are whole, and words are not glued together."""

import pytest
import torch
import transformers
from kinds import tokenizer

import nretm
from reproduction.particles import Drawing, Particle, Particles, followed

RULES = [nretm.parse(rule) for rule in ("Len(6) & WordAt(3, car)", "Sentences(2) & Copy(snow)")]


def tiny_llama(tok):
    torch.manual_seed(0)
    config = transformers.LlamaConfig(vocab_size=len(tok) + 3, hidden_size=32, intermediate_size=64,
                                      num_hidden_layers=2, num_attention_heads=4, pad_token_id=tok.pad_token_id)
    model = transformers.LlamaForCausalLM(config)
    for parameter in model.parameters():
        if parameter.dim() > 1:
            parameter.data.mul_(8)
    return model.eval()


@pytest.mark.parametrize("bonus", [0.0, 5.0])
def test_each_text_obeys_and_its_mean_is_what_the_model_gives_it(bonus):
    tok = tokenizer("byte-bpe")
    model, policy, size = tiny_llama(tok), nretm.Policy(), 4
    inputs = tok(["The car", "It"], return_tensors="pt", padding=True, padding_side="left", add_special_tokens=False,
                 return_token_type_ids=False)
    particles = Particles(RULES, tok, policy, size, bonus)
    enforcer = nretm.Enforcer(RULES, tok, policy, max_new_tokens=24)
    with torch.no_grad():
        ids, means = particles.generate(model, enforcer, [], **inputs, pad_token_id=tok.pad_token_id)
        assert len(ids) == 2 * size and all(enforcer.verdicts(ids))
        begin, length = inputs["input_ids"].shape[1], ids.shape[1] - inputs["input_ids"].shape[1]
        mask = torch.cat([inputs["attention_mask"].repeat_interleave(size, 0), torch.ones(2 * size, length).long()], 1)
        logs = model(ids, attention_mask=mask, position_ids=(mask.cumsum(1) - 1).clamp(min=0)).logits.log_softmax(-1)
    for row, mean in enumerate(means):  # read again, from the beginning and without a cache
        written = ids[row, begin:].tolist()
        count = next((n for n, token in enumerate(written, 1) if token == tok.eos_token_id), length)
        total = sum(logs[row, begin + n - 1, token].item() for n, token in enumerate(written[:count]))
        assert mean == pytest.approx(total / count, abs=1e-4)


def test_all_follow_the_best_at_their_last_milestone():
    first, ahead, behind = (Particle(None, marks=marks) for marks in ((-2.0,), (-1.0, -3.0), ()))
    assert followed([first, ahead, behind]) == [1, 1, 2]
    assert followed([first, ahead._replace(ended=True), behind]) == [0, 1, 2]
    assert followed([ahead, ahead._replace(marks=(-5.0, -2.0))]) == [1, 1]


def test_a_word_goes_on_only_as_the_model_means_it():
    tok = tokenizer("byte-bpe")
    drawing = Drawing(Particles([nretm.Len(3)], tok, nretm.Policy(), 1))
    car, snow, glued = (tok.convert_tokens_to_ids(token) for token in ("Ġcar", "Ġsnow", "s"))
    scores = torch.full((1, len(tok)), -20.0)
    scores[0, snow] = 0.0
    for gap, kept in ((1.0, True), (9.0, False)):
        scores[0, glued] = -gap
        assert bool(drawing(torch.tensor([[car]]), scores.clone())[0, glued] > -torch.inf) is kept


def test_grouped_attention_is_the_attention_of_transformers():
    from reproduction.grouped_attention import NAME

    torch.manual_seed(0)
    config = transformers.LlamaConfig(vocab_size=50, hidden_size=48, intermediate_size=64, num_hidden_layers=2,
                                      num_attention_heads=6, num_key_value_heads=2)
    model, ids = transformers.LlamaForCausalLM(config).eval(), torch.randint(3, 50, (3, 7))
    mask = torch.ones_like(ids)
    mask[1, :3] = 0  # padded on the left
    found = []
    for name in ("eager", NAME):
        model.set_attn_implementation(name)
        with torch.no_grad():
            read = model(ids[:, :5], attention_mask=mask[:, :5])
            rest = model(ids[:, 5:6], attention_mask=mask[:, :6], past_key_values=read.past_key_values)
        found.append(torch.cat([read.logits[:, 3:], rest.logits], dim=1))
    torch.testing.assert_close(*found)
