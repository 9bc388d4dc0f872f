"""Grid beam search (Hokamp and Liu, 2017): the paper's "+ G" row of Table 2.

Hypotheses live in a grid; row r holds the best `num_beams` hypotheses that cover r constraint tokens. From one step
to the next a hypothesis *generates* any token and stays in its row, *starts* a constraint that it lacks, or
*continues* the one that it is in (both one row up). Only the last row, where everything is covered, may end.
"""
from collections.abc import Sequence
from functools import partial

import torch

from nretm.modeling import DEAD, Finished, beam_loop, end_tokens


def grid_beam_search(model, constraints: Sequence[Sequence[Sequence[int]]], num_beams: int = 5,
                     boundary: torch.Tensor | None = None, **inputs):
    """`model.generate(**inputs)` by grid beam search: every token sequence in `constraints[b]` appears in output b.

    boundary   (V,) bool: the tokens that may follow a finished constraint, so that "car" does not become "carpet"
    inputs     what generate takes: input_ids, attention_mask, max_new_tokens, rules (of an equipped model), …
    """
    for row, phrases in enumerate(constraints):
        if any(len(phrase) == 0 for phrase in phrases):
            raise ValueError(f"Row {row} has a constraint without tokens: leave it out.")
    rows = 1 + max(sum(map(len, phrases)) for phrases in constraints)
    return model.generate(custom_generate=_search, constraints=constraints, boundary=boundary, width=num_beams,
                          num_beams=rows * num_beams, **inputs)


def _search(model, input_ids, logits_processor, stopping_criteria, generation_config, constraints, boundary, width,
            **model_kwargs):
    """What generate hands its expanded inputs (B·R·k rows), encoder outputs and cache to."""
    grid = _Grid(constraints, input_ids, generation_config, boundary, width)
    needs, room = int(grid.last.max()) + 1, generation_config.max_length - input_ids.shape[1]
    if needs > room:
        raise ValueError(f"The constraints need {needs} tokens with the end, but only {room} may be generated: "
                         "raise max_new_tokens.")
    return beam_loop(model, grid, logits_processor, stopping_criteria, generation_config, model_kwargs)


def _full(fill, *shape, device) -> torch.Tensor:
    return torch.full(shape, fill, device=device)


class _Grid:
    """The hypotheses of a batch, (B, R, k) of them. Of each:

    score      sum of its log-probabilities
    used       bit n: constraint n is begun or finished
    current    the constraint that it is in, -1 if none, with `position` tokens of it written
    fresh      a constraint has just been finished: its last word must not be prolonged
    code       a rolling hash of its tokens: a text that is reached along two ways takes up one place only
    """

    FIELDS = ("score", "used", "current", "position", "fresh", "code")

    def __init__(self, constraints, input_ids, config, boundary, width):
        self.config, self.eos, self.boundary = config, end_tokens(config), boundary
        self.sequences = input_ids
        self.batch, self.width, self.count = len(constraints), width, max(1, *map(len, constraints))
        self.rows = input_ids.shape[0] // (self.batch * width)
        make = partial(_full, device=input_ids.device)
        longest = max((len(phrase) for phrases in constraints for phrase in phrases), default=1)
        self.tokens, self.lengths = make(0, self.batch, self.count, longest), make(0, self.batch, self.count)
        for b, phrases in enumerate(constraints):
            for n, phrase in enumerate(phrases):
                self.tokens[b, n, :len(phrase)] = torch.tensor(phrase)
                self.lengths[b, n] = len(phrase)
        self.last = self.lengths.sum(dim=1)  # (B,) the row that covers everything
        self.bits = 2 ** torch.arange(self.count, device=input_ids.device)  # (N,)

        cells = (self.batch, self.rows, width)
        self.score, self.code = make(DEAD, *cells), make(0, *cells)
        self.score[:, 0, 0] = 0.0
        absent = ((self.lengths == 0) * self.bits).sum(dim=1)  # rows with fewer constraints: the rest is done
        self.used = absent[:, None, None].repeat(1, self.rows, width)
        self.current, self.position, self.fresh = make(-1, *cells), make(0, *cells), make(False, *cells)
        self.finished = [Finished(width, input_ids.shape[1], config) for _ in range(self.batch)]

    def advance(self, raw: torch.Tensor, allowed: torch.Tensor) -> torch.Tensor:
        """One column to the right. Constraint tokens go by their raw log-probabilities: nothing may forbid them."""
        scores = self._generate(allowed.view(*self.score.shape, -1))  # (B, R, k, V)
        self._finish(scores)
        scores[..., self.eos] = DEAD
        stay, rise = self._generated(scores), self._forced(raw.view(*self.score.shape, -1))
        candidates = {name: torch.cat([stay[name], rise[name]], dim=-1) for name in stay}  # (B, R, 2k + k·N)

        order = candidates["score"].argsort(dim=-1, descending=True, stable=True)
        mark = (candidates["code"] * 8_191 + candidates["used"]) * 131 + candidates["current"]
        mark = mark.gather(-1, order)
        again = (mark[..., :, None] == mark[..., None, :]).tril(-1).any(-1)  # (B, R, M) better ranked already
        ranked = candidates["score"].gather(-1, order).masked_fill(again, DEAD)
        score, rank = ranked.topk(self.width, dim=-1)
        best = {name: x.gather(-1, order.gather(-1, rank)) for name, x in candidates.items()} | {"score": score}
        for name in self.FIELDS:
            setattr(self, name, best[name])
        parents = (best["parent"] + self._first_of_batch()).flatten()  # (B·R·k,)
        self.sequences = torch.cat([self.sequences[parents], best["token"].flatten()[:, None]], dim=1)
        return parents

    def _generate(self, allowed: torch.Tensor) -> torch.Tensor:
        """Scores of every next token where no constraint is under way; of the end, in the last row only."""
        scores = self.score[..., None] + allowed
        scores = scores.masked_fill((self.current >= 0)[..., None], DEAD)
        if self.boundary is not None:
            scores = scores.masked_fill(self.fresh[..., None] & ~self.boundary, DEAD)
        lacking = torch.arange(self.rows, device=scores.device)[:, None] != self.last[:, None, None]  # (B, R, 1)
        scores[..., self.eos] = scores[..., self.eos].masked_fill(lacking[..., None], DEAD)
        return scores.clamp(min=DEAD)

    def _generated(self, scores: torch.Tensor) -> dict[str, torch.Tensor]:
        """The 2k best candidates of each row that stay in it."""
        size = scores.shape[-1]
        score, flat = scores.flatten(2).topk(min(2 * self.width, self.width * size), dim=-1)
        slot, token = flat // size, flat % size
        return {"score": score, "token": token, "parent": slot + self._first_of_row(),
                "code": self.code.gather(-1, slot) * 1_000_003 + token, "used": self.used.gather(-1, slot),
                "current": torch.full_like(slot, -1), "position": torch.zeros_like(slot),
                "fresh": torch.zeros_like(slot, dtype=torch.bool)}

    def _forced(self, raw: torch.Tensor) -> dict[str, torch.Tensor]:
        """The candidates that start or continue a constraint, put one row up."""
        inside = (self.current >= 0)[..., None]  # (B, R, k, 1)
        mine = self.current[..., None] == torch.arange(self.count, device=raw.device)
        may = torch.where(inside, mine, (self.used[..., None] & self.bits) == 0)  # (B, R, k, N)
        at = torch.where(mine, self.position[..., None], 0)  # tokens already written
        at = at.clamp(max=self.tokens.shape[-1] - 1)  # dead places may hold anything
        table = self.tokens[:, None, None].expand(*may.shape, -1)  # (B, R, k, N, L)
        token = table.gather(-1, at[..., None]).squeeze(-1)
        score = (self.score[..., None] + raw.gather(-1, token)).masked_fill(~may, DEAD).clamp(min=DEAD)
        done = at + 1 == self.lengths[:, None, None]
        numbers = torch.arange(self.count, device=raw.device).expand_as(may)
        parent = self._first_of_row()[..., None] + torch.arange(self.width, device=raw.device)[:, None]
        cells = {"score": score, "token": token, "parent": parent.expand_as(may),
                 "code": self.code[..., None] * 1_000_003 + token, "used": self.used[..., None] | self.bits,
                 "current": torch.where(done, -1, numbers), "position": torch.where(done, 0, at + 1), "fresh": done}
        lifted = {name: x.roll(1, dims=1).flatten(2) for name, x in cells.items()}  # (B, R, k·N)
        lifted["score"][:, 0] = DEAD  # what the last row rolled round to
        return lifted

    def _first_of_row(self) -> torch.Tensor:  # (R, 1), within a batch row
        return torch.arange(self.rows, device=self.score.device)[:, None] * self.width

    def _first_of_batch(self) -> torch.Tensor:  # (B, 1, 1)
        return torch.arange(self.batch, device=self.score.device)[:, None, None] * (self.rows * self.width)

    def _whole(self, b: int) -> torch.Tensor:
        """The token rows (k, t) of the hypotheses that cover everything."""
        first = (b * self.rows + int(self.last[b])) * self.width
        return self.sequences[first:first + self.width]

    def _finish(self, scores: torch.Tensor) -> None:
        """Take up the hypotheses that could end here."""
        for b in range(self.batch):
            ends = scores[b, self.last[b]][:, self.eos]  # (k, E)
            for slot, e in (ends > DEAD).nonzero().tolist():
                self.finished[b].add(ends[slot, e].item(), torch.cat([self._whole(b)[slot], self.eos[e:e + 1]]))

    def done(self) -> bool:
        length = self.sequences.shape[1]
        return all([self.finished[b].close(self.score[b].max().item(), length) for b in range(self.batch)])

    def best(self) -> list[tuple[float, torch.Tensor]]:
        """The best finished hypotheses; where the length ran out first, the best that covers everything."""
        length, found = self.sequences.shape[1], []
        for b, finished in enumerate(self.finished):
            running = [finished.score(total, length) for total in self.score[b, self.last[b]].tolist()]
            rest = list(zip(running, self._whole(b), strict=True))
            found += [*finished.kept, *rest][:self.config.num_return_sequences]
        return found
