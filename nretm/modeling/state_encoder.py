"""The State Matrix Encoder: from flag strings to flag keys and values (paper, section 2.5).

A flag such as `2 N 1 5` is tokenized with the model's own tokenizer, embedded with E^q (the first d_k dimensions of
the model's frozen embedding), read by the ShallowEncoder (one layer of the model's own encoder class, d_k wide), mean
pooled, and projected to one key and one value, which all decoder layers and heads share.
"""

import copy
from functools import lru_cache

import torch
import torch.nn.functional as F
from torch import Tensor, nn

HEADS, FFN = 4, 256  # of the ShallowEncoder, as the paper says
MAX_FLAGS = 100_000  # whose tokens are remembered


class StateEncoder(nn.Module):
    """Everything that NRETM adds to a model: the ShallowEncoder, W_k^f, b_k^f, W_v^f and b_v^f.

    The projections start at zero, so that training starts from the plain model: their own gradient is not zero, and
    the ShallowEncoder learns from the second step on.
    """

    def __init__(self, encoder: nn.Module, shrunken: dict, d: int):
        super().__init__()
        config = copy.deepcopy(encoder.config)
        self.pad = config.pad_token_id
        self.scale = config.d_model**0.5 if getattr(config, "scale_embedding", False) else 1.0
        for name, value in shrunken.items():
            setattr(config, name, value)
        self.shallow = type(encoder)(config)
        del self.shallow.embed_tokens  # it is fed with E^q
        self.longest = shrunken.get("max_position_embeddings")  # None: relative positions, any length will do
        self.key, self.value = nn.Linear(d, d), nn.Linear(d, d)
        for parameter in (*self.key.parameters(), *self.value.parameters()):
            nn.init.zeros_(parameter)

    def forward(self, tokens: Tensor, embedding: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values of distinct flags, (U, d) each, from their tokens (U, L) and the embedding (V, D)."""
        if self.longest and tokens.shape[1] > self.longest:
            raise ValueError(f"A state flag is {tokens.shape[1]} tokens long, the state encoder of this model takes "
                             f"{self.longest}: give the row a rule of fewer predicates, or compress the flags.")
        mask = tokens != self.pad  # (U, L)
        embedded = F.embedding(tokens, embedding[:, : self.key.in_features].detach()) * self.scale  # (U, L, d)
        hidden = self.shallow(inputs_embeds=embedded, attention_mask=mask.long()).last_hidden_state
        weights = mask.to(hidden.dtype)[..., None]
        pooled = (hidden * weights).sum(1) / weights.sum(1)  # (U, d)
        return self.key(pooled), self.value(pooled)


def encode(model: nn.Module, tokens: Tensor) -> tuple[Tensor, Tensor]:
    """Keys and values of flags by the state encoder and the embedding of an equipped model."""
    return model.nretm(tokens, model.get_encoder().get_input_embeddings().weight)


def flag_tokens(flags: list[str], tokenizer) -> Tensor:
    """Flags as the state encoder reads them, without special tokens, padded: (U, L)."""
    known = _known_flags(tokenizer)
    new = [flag for flag in flags if flag not in known]
    if len(known) + len(new) > MAX_FLAGS:
        known.clear()
        new = flags
    if new:
        known.update(zip(new, tokenizer(new, add_special_tokens=False)["input_ids"], strict=True))
    ids = [known[flag] for flag in flags]
    longest = max(map(len, ids), default=1)
    padded = [flag + [tokenizer.pad_token_id] * (longest - len(flag)) for flag in ids]
    return torch.tensor(padded, dtype=torch.long).view(len(flags), longest)


@lru_cache(maxsize=64)
def _known_flags(tokenizer) -> dict[str, list[int]]:
    return {}
