"""The State Matrix Encoder."""

import pytest
import tiny
import torch

from nretm.modeling.state_encoder import encode, flag_tokens

FLAGS = ["2 N 1 5", "0", "1 -3 N", "N 2 1 5"]


@pytest.mark.parametrize("family", tiny.FAMILIES)
def test_a_flag_is_encoded_the_same_in_any_company(family):
    model = tiny.equipped(family)
    keys, values = encode(model, flag_tokens(FLAGS, tiny.tokenizer))
    assert keys.shape == values.shape == (4, 8)
    for i, flag in enumerate(FLAGS):
        key, value = encode(model, flag_tokens([flag], tiny.tokenizer))
        torch.testing.assert_close(key[0], keys[i], rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(value[0], values[i], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("family", tiny.FAMILIES)
def test_the_order_of_entries_counts(family):
    model = tiny.equipped(family)
    keys, _ = encode(model, flag_tokens(["2 0", "0 2"], tiny.tokenizer))
    assert (keys[0] - keys[1]).abs().max() > 1e-4


@pytest.mark.parametrize("family", tiny.FAMILIES)
def test_one_layer_of_the_models_own_encoder(family):
    """Section 2.5: hidden size of one head, 4 heads, feed-forward of 256, one layer."""
    model = tiny.equipped(family)
    shallow = model.nretm.shallow
    assert type(shallow) is type(model.get_encoder())
    layers = shallow.block if hasattr(shallow, "block") else shallow.layers
    attention = layers[0].layer[0].SelfAttention if hasattr(shallow, "block") else layers[0].self_attn
    heads = attention.n_heads if hasattr(attention, "n_heads") else attention.num_heads
    assert (len(layers), heads) == (1, 4)
    widths = {tuple(p.shape) for p in layers.parameters() if p.dim() == 2}
    assert (256, 8) in widths and (8, 256) in widths
    assert not any("embed_tokens" in name for name, _ in model.nretm.named_parameters())


def test_the_embedding_is_the_models_and_gets_no_gradient_from_flags():
    model = tiny.equipped("T5")
    tokens = flag_tokens(FLAGS, tiny.tokenizer)
    before = encode(model, tokens)[0]
    encode(model, tokens)[0].sum().backward()
    assert model.shared.weight.grad is None and model.nretm.key.weight.grad is not None
    model.shared.weight.data[:, 8:] += 1  # beyond the first d_k dimensions: not looked at
    assert torch.equal(before, encode(model, tokens)[0])
    model.shared.weight.data[:, :8] += torch.randn(8)
    assert not torch.equal(before, encode(model, tokens)[0])


def test_flags_longer_than_the_positions():
    model = tiny.equipped("Bart")
    with pytest.raises(ValueError, match="flag is .* tokens long, the state encoder of this model takes 256"):
        encode(model, flag_tokens([" ".join(["2"] * 300)], tiny.tokenizer))
    encode(tiny.equipped("T5"), flag_tokens([" ".join(["2"] * 300)], tiny.tokenizer))


def test_no_flags_at_all():
    assert flag_tokens([], tiny.tokenizer).shape == (0, 1)
