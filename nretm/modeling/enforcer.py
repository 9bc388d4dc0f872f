"""Decoding that cannot break the rule, for any model of transformers that generates, equipped or not.

The paper's model obeys because it has learned to; nothing keeps it from failing. The enforcer is a LogitsProcessor that
allows a token only if what it leads to has a *witness* (`tracking/witness.py`): a continuation that fits into the
tokens that are left and at whose end the rule holds. The witness's own next token is always allowed, so that no
hypothesis gets stuck, and the text may end only where `nretm.check` passes it.
"""

from collections.abc import Iterator

import torch
from torch import Tensor
from transformers import (
    LogitsProcessor,
    LogitsProcessorList,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from nretm.modeling.banked_beams import banked_beam_search
from nretm.modeling.generation import read_rules
from nretm.rules.checker import Verdict, check
from nretm.rules.formula import Rule
from nretm.text.policy import Policy
from nretm.tracking.automaton import Configuration, automaton_for
from nretm.tracking.growing_text import reader_for
from nretm.tracking.witness import Witnesses, witnesses_for

TRIED = 64  # likeliest tokens that are tried before those that the rule itself would write
FORCED = -1.0e4  # the score of an allowed token that another processor has forbidden
ENDED = "ended"  # stands for where a text that has ended has led
USED = ("num_beams", "do_sample", "temperature", "top_k", "top_p", "eos_token_id")  # settings of generate


class Enforcer(LogitsProcessor):
    """Makes every text that ends obey its rule.

    rules           one per row of the input, or None
    tokenizer       the model's
    policy          how words and sentences are counted
    bonus           in nats, what a token that begins a needed phrase gains, times how short the room has become (0 to
                    1), so that phrases do not wait for the last moment; none in sampling. With beams in banks none is
                    needed, and without one a text that obeys stays as greedy search alone would write it
    prompt          how many tokens precede the text; None: all that generate starts with
    max_new_tokens  how many tokens may be written; a rule that they cannot satisfy is refused here, with a ValueError

    The other settings are generate's own, under its own names. They are kept in `settings`, to be written only once:

        enforcer = nretm.Enforcer(rules, tokenizer, max_new_tokens=60, do_sample=True, top_p=0.9)
        ids = model.generate(**inputs, logits_processor=[enforcer], **enforcer.settings)
        enforcer.verdicts(ids)

    Greedy and beam search see the likeliest allowed tokens; beams are in banks (`banked_beams.py`). With do_sample the
    enforcer draws the token itself, from the distribution that the model has after temperature, top_k and top_p,
    restricted to the allowed tokens; where these have left no allowed token, it takes the likeliest. What other
    processors forbid stays forbidden unless the rule leaves nothing else: the rule comes first.
    """

    def __init__(self, rules: list[Rule | str | None], tokenizer, policy: Policy | None = None, *,
                 max_new_tokens: int, num_beams: int = 1, do_sample: bool = False, temperature: float = 1.0,
                 top_k: int = 50, top_p: float = 1.0, eos_token_id: int | list[int] | None = None,
                 bonus: float = 0.0, prompt: int | None = None):
        if isinstance(rules, (str, Rule)):
            raise ValueError("rules must be a list: one rule, or None, for each row of the input.")
        ends = tokenizer.eos_token_id if eos_token_id is None else eos_token_id
        ends = [ends] if isinstance(ends, int) else list(ends or ())
        self.settings = dict(max_new_tokens=max_new_tokens, num_beams=num_beams, do_sample=do_sample, eos_token_id=ends)
        if do_sample:
            self.settings |= dict(temperature=temperature, top_k=top_k, top_p=top_p)
        elif num_beams > 1:
            self.settings["custom_generate"] = banked_beam_search
        self.policy, self.vocabulary, self.ends, self.prompt = policy or Policy(), len(tokenizer), ends, prompt
        self.bonus = 0.0 if do_sample else bonus
        own_end = tokenizer.eos_token_id if tokenizer.eos_token != self.policy.separator else None
        self._no_end = None if own_end in ends else own_end
        self._proposes = bool(self.bonus) or (num_beams > 1 and not do_sample)  # what the rule needs, likely or not
        self._enough = 1 if num_beams == 1 else (1 + max(1, len(ends))) * num_beams  # as many as beam search looks at
        self._warp = _warpers(temperature, top_k, top_p, 1 if num_beams == 1 else 1 + len(ends)) if do_sample else None
        self._witnesses: list[Witnesses | None] = []
        self.rules, self.reader = read_rules(rules), reader_for(tokenizer, self.policy)
        for row, rule in enumerate(self.rules):
            try:
                self._witnesses.append(None if rule is None else self._found(rule))
            except ValueError as error:
                raise ValueError(f"Row {row}: {error}") from None
        self._begin = self._length = self._limit = 0
        self._places: dict[tuple[int, bytes], Configuration | str | None] = {}  # (row, bytes of its tokens)

    def _found(self, rule: Rule) -> Witnesses:
        if problems := rule.contradictions():
            raise ValueError(f"no text can obey {rule}: {'; '.join(problems)}.")
        witnesses, room = witnesses_for(automaton_for(rule, self.reader)), self.settings["max_new_tokens"]
        if witnesses.length(witnesses.automaton.start, room) is None:
            raise ValueError(f"no text of at most {room} tokens was found that obeys {rule}: raise max_new_tokens, or "
                             "look for parts of the rule that exclude each other.")
        return witnesses

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """The scores, (R, V), with -inf for each token that is not allowed."""
        places, order, copies = self._configurations(input_ids), self._order(scores), len(scores) // len(self.rules)
        self._here = places
        room, likeliest = self._limit - input_ids.shape[1], _first(order)
        free, rows, tokens, gains = [], [], [], []
        for i, here in enumerate(places):
            witnesses = self._witnesses[i // copies]
            if witnesses is None or here is ENDED:
                free.append(i)
                continue
            candidates = self._candidates(likeliest[i], order[i], scores[i])
            allowed = self._allowed(witnesses, here, room, candidates)
            rows += [i] * len(allowed)
            tokens += allowed
            gains += allowed.values()
        free, rows, tokens = (torch.tensor(x, dtype=torch.long, device=scores.device) for x in (free, rows, tokens))
        allowed = scores[rows, tokens]
        result = torch.full_like(scores, -torch.inf)
        result[rows, tokens] = allowed.masked_fill(allowed == -torch.inf, FORCED) + allowed.new_tensor(gains)
        result[free] = scores[free]
        return result

    def _order(self, scores: Tensor) -> Tensor:
        """What candidates are sorted by: their score or, to draw them, their score with Gumbel noise. The first that is
        allowed is then a draw from the distribution over allowed tokens."""
        if self._warp is None:
            return scores
        warped = self._warp(None, scores.float())
        return warped - torch.empty_like(warped).exponential_().log_()

    def _candidates(self, likeliest: list[int], order: Tensor, scores: Tensor) -> Iterator[int]:
        yield from likeliest
        if self._warp is not None:
            if len(likeliest) == TRIED:
                yield from order.argsort(descending=True)[TRIED:int((order > -torch.inf).sum())].tolist()
            yield from _first(scores[None])[0]  # what top_k and top_p have left out

    def _allowed(self, witnesses: Witnesses, here: Configuration, room: int, candidates: Iterator[int]
                 ) -> dict[int, float]:
        """Enough allowed tokens, the first candidates, but at least one; and what is added to the score of each."""
        allowed = {}
        if self._proposes:
            gain = self.bonus and self.bonus * witnesses.pressure(here, room)
            allowed = {token: gain for token in dict.fromkeys(move[0] for move in witnesses.needed(here))
                       if self._allows(witnesses, here, room, token)}
        enough, refused = self._enough + len(allowed), False
        for token in candidates:
            if token in allowed or (refused and self._stalls(token)):
                continue
            if self._allows(witnesses, here, room, token):
                allowed[token] = 0.0
                if len(allowed) == enough:
                    return allowed
            else:
                refused = self._warp is None
        if witnesses.length(here, room) is None:  # only a hypothesis that does not count any more has no witness
            return dict.fromkeys(self.ends, 0.0)
        if allowed and self._warp is not None:
            return allowed
        for token in dict.fromkeys(move[0] for move in witnesses.moves(here)):  # what the rule itself would write
            if token not in allowed and self._allows(witnesses, here, room, token):
                allowed[token] = 0.0
        own = witnesses.next_token(here)
        return dict.fromkeys(self.ends if own is None else (own,), 0.0) | allowed

    def _stalls(self, token: int) -> bool:
        """Whether a token only passes the time: a model that may not write what it wants likes to write spaces."""
        if token in self.ends:
            return False
        written = self.reader.token_bytes[token] if token < self.vocabulary else None
        return not written or written.isspace()

    def _allows(self, witnesses: Witnesses, here: Configuration, room: int, token: int) -> bool:
        if token in self.ends:
            return witnesses.may_end(here)
        return witnesses.length(self._step(witnesses, here, token), room - 1) is not None

    def _step(self, witnesses: Witnesses, here: Configuration, token: int) -> Configuration:
        """Tokens that the tokenizer lacks write nothing, nor does its own end if generate does not stop at it."""
        return here if token >= self.vocabulary or token == self._no_end else witnesses.automaton.step(here, token)

    def _configurations(self, input_ids: Tensor) -> list[Configuration | str | None]:
        """Where each row's text has led: mostly one step from where it was in the call before."""
        length = input_ids.shape[1]
        if length <= self._length or not self._places:  # generate begins
            self._begin = length if self.prompt is None else self.prompt
            self._limit = length + self.settings["max_new_tokens"]
            self._places = {}
        copies, places, found = len(input_ids) // len(self.rules), {}, []
        for i, ids in enumerate(input_ids[:, self._begin:].cpu().numpy()):
            row = i // copies
            prefix = row, ids.tobytes()
            if prefix not in places:
                before = self._places.get((row, ids[:-1].tobytes()))
                places[prefix] = self._after(row, before, ids if before is None else ids[-1:])
            found.append(places[prefix])
        self._places, self._length = places, length
        return found

    def _after(self, row: int, before: Configuration | str | None, ids) -> Configuration | str | None:
        witnesses = self._witnesses[row]
        if witnesses is None:
            return None
        here = witnesses.automaton.start if before is None else before
        for token in ids.tolist():
            if here is ENDED or token in self.ends:
                return ENDED
            here = self._step(witnesses, here, token)
        return here

    def satisfied(self, hypothesis: int, token: int) -> int:
        """How many literals of its rule hold once a hypothesis, by its number in the last call, takes the token."""
        here, witnesses = self._here[hypothesis], self._witnesses[hypothesis * len(self.rules) // len(self._here)]
        if witnesses is None or here is ENDED:
            return 0
        return sum(status == 2 for status, _ in self._step(witnesses, here, token).now.states)

    def texts(self, sequences: Tensor) -> list[str | None]:
        """What the outputs of generate, (B·n, T) with the prompt, say after the prompt; None in rows without a rule."""
        copies, texts = len(sequences) // len(self.rules), []
        for i, ids in enumerate(sequences[:, self._begin:].tolist()):
            end = next((n for n, token in enumerate(ids) if token in self.ends), len(ids))
            texts.append(None if self.rules[i // copies] is None else self.reader.text(
                token for token in ids[:end] if token < self.vocabulary))
        return texts

    def verdicts(self, sequences: Tensor) -> list[Verdict | None]:
        """How the outputs of generate fare by their rules."""
        copies = len(sequences) // len(self.rules)
        return [None if text is None else check(self.rules[i // copies], text, policy=self.policy)
                for i, text in enumerate(self.texts(sequences))]


def _first(order: Tensor) -> list[list[int]]:
    """The first TRIED tokens of each row that have a chance at all."""
    values, tokens = order.topk(min(TRIED, order.shape[-1]), dim=-1)
    counts = (values > -torch.inf).sum(dim=-1).tolist()
    return [row[:count] for row, count in zip(tokens.tolist(), counts, strict=True)]


def _warpers(temperature: float, top_k: int, top_p: float, keep: int) -> LogitsProcessorList:
    """What generate does to the scores before it draws."""
    warpers = LogitsProcessorList()
    if temperature != 1.0:
        warpers.append(TemperatureLogitsWarper(temperature))
    if top_k:
        warpers.append(TopKLogitsWarper(top_k, min_tokens_to_keep=keep))
    if top_p < 1.0:
        warpers.append(TopPLogitsWarper(top_p, min_tokens_to_keep=keep))
    return warpers
