"""Diverse beam search (Vijayakumar et al., 2018), which left transformers for a repository on the hub.

The beams form groups. In each step the groups choose their tokens one after another, and a token costs a group
`diversity_penalty` for every time that an earlier group has just chosen it.
"""

import torch
from torch import Tensor

from nretm.modeling.beam_loop import DEAD, Finished, beam_loop, end_tokens


def diverse_beam_search(model, input_ids, logits_processor, stopping_criteria, generation_config, **model_kwargs):
    """What generate hands its expanded inputs (B·beams rows), encoder outputs and cache to."""
    config, groups = generation_config, generation_config.num_beam_groups
    if config.num_beams % groups or config.do_sample:
        raise ValueError(f"Diverse beam search takes num_beams as a multiple of num_beam_groups and no sampling, not "
                         f"{config.num_beams} beams in {groups} groups{' with sampling' * bool(config.do_sample)}.")
    return beam_loop(model, _Groups(input_ids, config), logits_processor, stopping_criteria, config, model_kwargs)


class _Groups:
    """The beams of a batch: (B, N, k), N groups of k beams each."""

    def __init__(self, input_ids: Tensor, config):
        self.sequences, self.config, self.ends = input_ids, config, end_tokens(config)
        self.groups, self.size = config.num_beam_groups, config.num_beams // config.num_beam_groups
        self.batch = len(input_ids) // config.num_beams
        self.finished = [[Finished(self.size, input_ids.shape[1], config) for _ in range(self.groups)]
                         for _ in range(self.batch)]
        self.scores = torch.full((self.batch, self.groups, self.size), DEAD, device=input_ids.device)
        self.scores[..., 0] = 0.0
        places = torch.arange(len(input_ids), device=input_ids.device)
        self.first = places.view(self.scores.shape)[..., :1]  # (B, N, 1) the row of each group's first beam

    def advance(self, raw: Tensor, allowed: Tensor) -> Tensor:
        logs = allowed.view(*self.scores.shape, -1)  # (B, N, k, V)
        taken = torch.zeros(self.batch, logs.shape[-1], device=logs.device)  # how often earlier groups took each token
        tokens, slots = [], []
        for group in range(self.groups):
            penalty = (self.config.diversity_penalty or 0.0) * taken[:, None]
            best, token, slot, ends = self._best(self.scores[:, group, :, None] + logs[:, group] - penalty)
            for b, rank in ends[:, :self.size].nonzero().tolist():
                ids = self.sequences[self.first[b, group, 0] + slot[b, rank]]
                self.finished[b][group].add(best[b, rank].item(), torch.cat([ids, token[b, rank, None]]))
            order = ends.long().argsort(dim=1, stable=True)[:, :self.size]  # those that do not end, best first
            self.scores[:, group], token = best.gather(1, order), token.gather(1, order)
            taken.scatter_add_(1, token, torch.ones_like(token, dtype=taken.dtype))
            tokens.append(token)
            slots.append(slot.gather(1, order))
        parents = (torch.stack(slots, dim=1) + self.first).flatten()  # (B·beams,)
        self.sequences = torch.cat([self.sequences[parents], torch.stack(tokens, dim=1).view(-1, 1)], dim=1)
        return parents

    def _best(self, total: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Enough of the best continuations, (B, M) each, that `size` of them do not end."""
        best, flat = total.flatten(1).topk(min((1 + len(self.ends)) * self.size, total[0].numel()), dim=1)
        token = flat % total.shape[-1]
        return best, token, flat // total.shape[-1], torch.isin(token, self.ends)

    def done(self) -> bool:
        length = self.sequences.shape[1]
        return all([finished.close(self.scores[b, g, 0].item(), length)
                    for b, row in enumerate(self.finished) for g, finished in enumerate(row)])

    def best(self) -> list[tuple[float, Tensor]]:
        """The best hypotheses of all groups; running ones count where the length ran out."""
        running, found = self.sequences.view(*self.scores.shape, -1), []
        for b, row in enumerate(self.finished):
            for g, finished in enumerate(row):
                for slot, ids in enumerate(running[b, g]):
                    finished.add(self.scores[b, g, slot].item(), ids)
            ranked = sorted((pair for finished in row for pair in finished.kept), key=lambda pair: -pair[0])
            found += ranked[: self.config.num_return_sequences]
        return found
