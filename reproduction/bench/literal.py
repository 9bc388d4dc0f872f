"""The paper's equations as they stand, with m^k and m^v of shape (B, T, S, d).

What the tests hold our attention against, and what the benchmark compares its cost with.
"""

from contextlib import contextmanager

import torch
from torch import Tensor, nn
from transformers import AttentionInterface

from nretm.modeling import StateTensors, cross_attentions


class Cells:
    """m^k and m^v, made once for all layers."""

    def __init__(self, state: StateTensors):
        steps, d = state.keys.shape[1], state.keys.shape[3]
        index = state.groups[:, None, :, None].expand(-1, steps, -1, d)  # (B, T, S, d)
        self.state, self.keys, self.values = state, state.keys.gather(2, index), state.values.gather(2, index)


_cells: list[Cells] = []


def cells(state: StateTensors) -> tuple[Tensor, Tensor]:
    if not _cells or _cells[0].state is not state:
        _cells[:] = [Cells(state)]
    return _cells[0].keys, _cells[0].values


def attend(module, query, key, value, mask, scaling, decoder_state, dropout=0.0, position_bias=None, **kwargs):
    """e_ij = q_j (k_i + m^k_ij)^T * scale, o_j = sum_i a_ij (v_i + m^v_ij)"""
    flag_keys, flag_values = cells(decoder_state)  # (B, T, S, d)
    scores = torch.einsum("bhtd,bhsd->bhts", query, key) + torch.einsum("bhtd,btsd->bhts", query, flag_keys)
    scores = scores * scaling
    if position_bias is not None:
        scores = scores + position_bias
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else scores + mask
    weights = nn.functional.dropout(scores.softmax(-1), dropout, module.training)
    output = torch.einsum("bhts,bhsd->bthd", weights, value) + torch.einsum("bhts,btsd->bthd", weights, flag_values)
    return output, weights


AttentionInterface.register("nretm_literal", attend)


@contextmanager
def literal(model: nn.Module):
    """Let an equipped model compute its cross-attentions literally for a while."""
    configs = [module.config for module in cross_attentions(model.get_decoder())]
    names = [config._attn_implementation for config in configs]
    try:
        for config in configs:
            config._attn_implementation_internal = "nretm_literal"
        yield
    finally:
        _cells.clear()
        for config, name in zip(configs, names, strict=True):
            config._attn_implementation_internal = name
