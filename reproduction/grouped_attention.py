"""Attention for a decoder-only model that writes many texts at the same time, one token of each in a step.

Heads that share their keys and values (grouped-query attention) are multiplied together, so that nothing is copied for
each of them.  On a CPU torch's own kernels take several times as long for a single new token.
"""

from __future__ import annotations

import torch
from torch import Tensor
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import eager_mask

NAME = "grouped"


def grouped_attention(module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None,
                      scaling: float, **kwargs) -> tuple[Tensor, None]:
    """What transformers calls by its name; query (B, h, n, d), key and value (B, g, t, d), with g a divisor of h."""
    (batch, heads, length, size), groups = query.shape, key.shape[1]
    together = query.reshape(batch, groups, heads // groups * length, size) * scaling
    scores = (together @ key.transpose(2, 3)).view(batch, groups, heads // groups, length, -1)
    if attention_mask is not None:
        scores = scores + attention_mask[:, :, None, :, :key.shape[2]]
    weights = scores.softmax(dim=-1, dtype=torch.float32).to(query.dtype).view(*together.shape[:3], -1)
    return (weights @ value).view(batch, heads, length, size).transpose(1, 2).contiguous(), None


AttentionInterface.register(NAME, grouped_attention)
AttentionMaskInterface.register(NAME, eager_mask)
