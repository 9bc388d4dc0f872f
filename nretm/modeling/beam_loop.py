"""The loop of every beam search of ours, and the one place where such a loop touches transformers' internals.

A search says which hypotheses run, which tokens they take next, and when to stop; the loop runs the model, keeps its
cache in step with the hypotheses, and hands the result back in the form that `generate` returns.
"""

from typing import Protocol

import torch
from torch import Tensor
from transformers.generation.utils import GenerateBeamDecoderOnlyOutput, GenerateBeamEncoderDecoderOutput

DEAD = -1.0e9  # score of a place that holds no hypothesis


class Search(Protocol):
    """What a beam search chooses in each step."""

    sequences: Tensor  # (R, t) the hypotheses that run, all rows of the batch

    def advance(self, raw: Tensor, allowed: Tensor) -> Tensor:
        """Append one token to `sequences`; returns the former row of each of its rows, (R,).

        raw       (R, V) log-probabilities
        allowed   the same after the logits processors (no repeated trigram, …)
        """

    def done(self) -> bool:
        """Whether nothing that still runs can change the result."""

    def best(self) -> list[tuple[float, Tensor]]:
        """The score and the tokens of each sequence that is returned, in the order of the batch."""


def beam_loop(model, search: Search, logits_processor, stopping_criteria, config, model_kwargs: dict):
    """What a `custom_generate` function returns, with the arguments that `generate` hands to it."""
    outputs = model._prefill(search.sequences, config, model_kwargs)
    while True:
        model_kwargs = model._update_model_kwargs_for_generation(
            outputs, model_kwargs, is_encoder_decoder=model.config.is_encoder_decoder)
        raw = torch.log_softmax(outputs.logits[:, -1].float(), dim=-1)  # (R, V)
        parents = search.advance(raw, logits_processor(search.sequences, raw.clone()))
        if stopping_criteria(search.sequences, None).all() or search.done():
            break
        if model_kwargs.get("past_key_values") is not None:
            model_kwargs["past_key_values"].reorder_cache(parents)
        inputs = model.prepare_inputs_for_generation(
            search.sequences, next_sequence_length=1 if model_kwargs["use_cache"] else None, **model_kwargs)
        outputs = model(**inputs, return_dict=True)
    scores, sequences = zip(*search.best(), strict=True)
    padded = torch.nn.utils.rnn.pad_sequence(list(sequences), batch_first=True,
                                             padding_value=int(config._pad_token_tensor))
    if not config.return_dict_in_generate:
        return padded
    output = (GenerateBeamEncoderDecoderOutput if model.config.is_encoder_decoder else GenerateBeamDecoderOnlyOutput)
    return output(sequences=padded, sequences_scores=torch.tensor(scores, device=padded.device))


def end_tokens(config) -> Tensor:
    """(E,) the tokens that end a text."""
    return config._eos_token_tensor


class Finished:
    """The best `size` hypotheses that have ended, best first; scores are divided by length ** length_penalty."""

    def __init__(self, size: int, prompt: int, config):
        self.size, self.prompt, self.config = size, prompt, config
        self.kept: list[tuple[float, Tensor]] = []
        self.closed = False

    def score(self, total: float, length: int) -> float:
        """`length` counts the prompt too."""
        return total / (length - self.prompt) ** self.config.length_penalty

    def add(self, total: float, ids: Tensor) -> None:
        if not self.closed:
            self.kept.append((self.score(total, len(ids)), ids))
            self.kept = sorted(self.kept, key=lambda pair: -pair[0])[: self.size]

    def close(self, best_running: float, length: int) -> bool:
        """Take no more once it is full and, unless it stops early, nothing that still runs could do better."""
        if len(self.kept) == self.size:
            self.closed = (self.closed or self.config.early_stopping is True
                           or self.kept[-1][0] >= self.score(best_running, length))
        return self.closed
