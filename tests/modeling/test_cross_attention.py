"""The cross-attention against the paper's equations, written out cell by cell."""

import pytest
import tiny
import torch

import nretm
from reproduction.bench.literal import literal


def run(model, batch, **kwargs):
    model.zero_grad()
    outputs = model(**batch, **kwargs)
    outputs.loss.backward()
    gradients = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    return outputs.logits.detach(), outputs.loss.detach(), gradients


@pytest.fixture
def batch():
    def make(model):
        return nretm.Collator(model)(tiny.ROWS)
    return make


@pytest.mark.parametrize("implementation", ["sdpa", "eager"])
@pytest.mark.parametrize("family", tiny.FAMILIES)
def test_equal_to_the_equations(family, implementation, batch):
    model = tiny.equipped(family, attn_implementation=implementation)
    data = batch(model)
    assert (data["attention_mask"] == 0).any() and (data["labels"] == -100).any()  # there is padding
    logits, loss, gradients = run(model, data)
    with literal(model):
        same_logits, same_loss, same_gradients = run(model, data)
    seen = data["labels"] != -100
    torch.testing.assert_close(logits[seen], same_logits[seen], rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(loss, same_loss, rtol=1e-5, atol=1e-5)
    assert gradients.keys() == same_gradients.keys()
    for name, gradient in gradients.items():
        scale = same_gradients[name].abs().max().clamp(min=1.0)
        torch.testing.assert_close(gradient / scale, same_gradients[name] / scale, rtol=1e-5, atol=1e-5, msg=name)
    state_gradients = [g for name, g in gradients.items() if name.startswith("nretm.")]
    assert len(state_gradients) > 10 and all(g.abs().max() > 0 for g in state_gradients)


@pytest.mark.parametrize("family", tiny.FAMILIES)
def test_in_bfloat16_as_good_as_the_equations(family, batch):
    model = tiny.equipped(family)
    data = batch(model)
    seen = data["labels"] != -100
    with literal(model):
        exact = run(model, data)
        with torch.autocast("cpu", torch.bfloat16):
            theirs = run(model, data)
    with torch.autocast("cpu", torch.bfloat16):
        ours = run(model, data)
    error, allowed = ((logits[seen].float() - exact[0][seen]).abs().mean() for logits, *_ in (ours, theirs))
    assert 0 < error <= 1.5 * allowed
    error, allowed = (sum((g[n] - exact[2][n]).abs().sum() for n in exact[2]) for g in (ours[2], theirs[2]))
    assert 0 < error <= 1.5 * allowed


def test_dropout_falls_on_values_and_flag_values_alike():
    """In training one draw of dropped attention weights serves both sums, as in the equations."""
    model = tiny.equipped("T5", attn_implementation="eager", dropout_rate=0.3).train()
    data = nretm.Collator(model)(tiny.ROWS)
    torch.manual_seed(5)
    logits, *_ = run(model, data)
    torch.manual_seed(5)
    with literal(model):
        torch.testing.assert_close(logits, run(model, data)[0], rtol=1e-4, atol=1e-4)
