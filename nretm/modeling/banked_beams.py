"""Enforced beam search with beams in banks (dynamic beam allocation: Post and Vilar, 2018).

A hypothesis that says a needed phrase pays for it at once, one that puts it off pays in the end. Plain beam search
therefore drops the former, and phrases come at the last moment. Here hypotheses compete within a bank only, with those
that satisfy as many literals of the rule, and in each step the banks take turns to fill the beams. Rows without a rule
have one bank: for them it is plain beam search.
"""

import torch
from torch import Tensor

from nretm.modeling.beam_loop import DEAD, Finished, beam_loop, end_tokens

LOOKED_AT = 24  # continuations per beam: more than an enforcer leaves
ALIVE = DEAD / 10  # better than this is a hypothesis


def banked_beam_search(model, input_ids, logits_processor, stopping_criteria, generation_config, **model_kwargs):
    """What generate hands its expanded inputs (B·beams rows), encoder outputs and cache to."""
    enforcer = next((processor for processor in logits_processor if hasattr(processor, "satisfied")), None)
    if enforcer is None or generation_config.do_sample:
        raise ValueError("Beams in banks need an nretm.Enforcer among the logits processors, and do not sample.")
    search = _Banks(input_ids, generation_config, enforcer)
    return beam_loop(model, search, logits_processor, stopping_criteria, generation_config, model_kwargs)


class _Banks:
    """The beams of a batch, (B, k)."""

    def __init__(self, input_ids: Tensor, config, enforcer):
        self.sequences, self.config, self.enforcer = input_ids, config, enforcer
        self.ends, self.beams = set(end_tokens(config).tolist()), config.num_beams
        batch = len(input_ids) // self.beams
        self.finished = [Finished(self.beams, input_ids.shape[1], config) for _ in range(batch)]
        self.scores = torch.full((batch, self.beams), DEAD, device=input_ids.device)
        self.scores[:, 0] = 0.0

    def advance(self, raw: Tensor, allowed: Tensor) -> Tensor:
        vocabulary = allowed.shape[-1]
        total = (self.scores.view(-1, 1) + allowed).view(len(self.finished), -1)  # (B, k·V)
        best, flat = total.topk(min(LOOKED_AT * self.beams, total.shape[-1]), dim=1)
        taken = [[(score, row * self.beams + place // vocabulary, place % vocabulary)
                  for score, place in zip(scores, places, strict=True) if score > ALIVE]
                 for row, (scores, places) in enumerate(zip(best.tolist(), flat.tolist(), strict=True))]
        running = [run for row, found in enumerate(taken) for run in self._running(row, found)]
        scores, parents, tokens = (torch.tensor(x, device=total.device) for x in zip(*running, strict=True))
        self.scores = scores.view(self.scores.shape)
        self.sequences = torch.cat([self.sequences[parents], tokens[:, None]], dim=1)
        return parents

    def _running(self, row: int, found: list[tuple[float, int, int]]) -> list[tuple[float, int, int]]:
        """The continuations (score, parent, token) that run on; those that end are kept if their bank has the room.

        Where nothing can change the result any more, none runs on: the enforcer has no work with the row.
        """
        banks: dict[int, list[tuple[float, int, int]]] = {}
        for score, parent, token in [] if self.finished[row].closed else found:  # best first
            bank = banks.setdefault(self.enforcer.satisfied(parent, token), [])
            if token not in self.ends:
                bank.append((score, parent, token))
            elif len(bank) < self.beams:
                ids = self.sequences[parent]
                self.finished[row].add(score, torch.cat([ids, ids.new_tensor([token])]))
        banks, running = [bank[::-1] for _, bank in sorted(banks.items(), reverse=True)], []  # most satisfied first
        while len(running) < self.beams and any(banks):
            running += [bank.pop() for bank in banks if bank]
        nothing = (DEAD, row * self.beams, next(iter(self.ends)))
        return sorted(running[:self.beams], reverse=True) + [nothing] * (self.beams - len(running))

    def done(self) -> bool:
        best, length = self.scores[:, 0].tolist(), self.sequences.shape[1]
        return all([finished.close(score, length) or score <= ALIVE
                    for finished, score in zip(self.finished, best, strict=True)])

    def best(self) -> list[tuple[float, Tensor]]:
        """The best hypotheses of each row; running ones count where the length ran out."""
        found, count = [], self.config.num_return_sequences
        running = self.sequences.view(*self.scores.shape, -1)
        for finished, scores, rows in zip(self.finished, self.scores.tolist(), running, strict=True):
            for score, ids in zip(scores, rows, strict=True):
                if score > ALIVE:
                    finished.add(score, ids)
            found += (finished.kept * count)[:count]
        return found
