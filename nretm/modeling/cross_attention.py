"""Cross-attention that sees the state matrix (paper, section 2.5).

    e_ij = q_j (k_i + m^k_ij)^T * scale        o_j = sum_i a_ij (v_i + m^v_ij)

m_ij is the key or value of the flag that input token i carries while output token j is predicted. Tokens of one
group always carry the same flag, m_ij = K[j, g(i)], which makes this ordinary attention over slightly longer heads:

    q'_j = [q_j ; q_j·K[j, 1], ..., q_j·K[j, G]]     k'_i = [k_i ; onehot(g(i))]     v'_i = [v_i ; onehot(g(i))]

Then q'_j·k'_i = q_j·(k_i + m^k_ij), and the output is [sum_i a_ij v_i ; the attention mass of each group], to which
the flags' values are added group by group. Nothing of shape (B, T, S, d) is built, and scaling, masks, position biases,
dropout and kernels are those of the attention that the plain model would have used.
"""

import copy
import sys
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn
from transformers import AttentionInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward


@dataclass(frozen=True)
class StateTensors:
    """What the decoder's cross-attentions know of the rules; one object serves all layers and heads."""

    keys: Tensor  # (B, T, G, d) of the flag that each group carries
    values: Tensor  # (B, T, G, d)
    groups: Tensor  # (B, S) the group of each input token
    onehot: Tensor  # (B, S, G) the same

    def to(self, dtype: torch.dtype) -> "StateTensors":
        """In the precision of the attention, which under autocast is not that of the weights."""
        if self.keys.dtype == self.onehot.dtype == dtype:
            return self
        return StateTensors(self.keys.to(dtype), self.values.to(dtype), self.groups, self.onehot.to(dtype))


def cross_attentions(decoder: nn.Module) -> list[nn.Module]:
    return [m for m in decoder.modules() if getattr(m, "is_decoder", False) and getattr(m, "is_causal", None) is False]


def hook(decoder: nn.Module) -> None:
    """Let the cross-attentions of a decoder, and nothing else, find `attend`.

    transformers looks an attention's function up under the name that the attention's own config gives. Each
    cross-attention gets a copy of that config with our name: self-attention, encoder and masks stay as they were.
    """
    for module in cross_attentions(decoder):
        module.config = copy.copy(module.config)
        module.config._attn_implementation_internal = f"nretm_{module.config._attn_implementation}"


def attend(base, module, query, key, value, attention_mask, scaling=None, decoder_state=None, **kwargs):
    """An attention function of transformers: `base` where there is no state, the equations above where there is."""
    if decoder_state is None:
        return base(module, query, key, value, attention_mask, scaling=scaling, **kwargs)
    state, heads, d = decoder_state.to(query.dtype), query.shape[1], query.shape[-1]
    scaling = d**-0.5 if scaling is None else scaling
    bias = (query.transpose(1, 2) @ state.keys.transpose(2, 3)).transpose(1, 2)  # (B, H, T, G)
    if query.shape[2] == 1 and not torch.is_grad_enabled():
        return _one_step(query, key, value, attention_mask, scaling, state, bias, **kwargs)
    onehot = state.onehot[:, None].expand(-1, heads, -1, -1)  # (B, H, S, G)
    query, key, value = (torch.cat(pair, -1) for pair in ((query, bias), (key, onehot), (value, onehot)))
    output, weights = base(module, query, key, value, attention_mask, scaling=scaling, **kwargs)
    output, mass = output.split([d, state.onehot.shape[-1]], -1)  # (B, T, H, d), (B, T, H, G)
    return output + mass @ state.values, weights


def _one_step(query, key, value, mask, scaling, state, bias, position_bias=None, **kwargs):
    """The same for one new token, without copying the cached keys and values."""
    groups = state.groups[:, None, None].expand(-1, query.shape[1], -1, -1)  # (B, H, 1, S)
    scores = (query @ key.transpose(2, 3) + bias.gather(3, groups)) * scaling  # (B, H, 1, S)
    if position_bias is not None:
        scores = scores + position_bias
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else scores + mask
    weights = scores.softmax(-1)
    mass = weights[:, :, 0] @ state.onehot  # (B, H, G)
    output = (weights @ value)[:, :, 0] + mass @ state.values[:, 0]  # (B, H, d)
    return output[:, None], weights


def _eager(module, *args, **kwargs):
    """The eager attention of the module's own modeling file."""
    return sys.modules[type(module).__module__].eager_attention_forward(module, *args, **kwargs)


BASE_ATTENTIONS = {"sdpa": sdpa_attention_forward, "eager": _eager}
for _name, _base in BASE_ATTENTIONS.items():
    AttentionInterface.register(f"nretm_{_name}", partial(attend, _base))
