"""What a model writes for a rule, and how probable it found each next token with and without the tracker."""

from __future__ import annotations

import difflib
import re
import warnings
from collections.abc import Collection
from dataclasses import dataclass

import torch

import nretm
from nretm import Policy, Rule, StateMatrix, Tracker, Verdict
from nretm.tracking import Row, matrix_of

LIKELIEST = 5  # next tokens that are shown of either distribution
MAX_NEW_TOKENS = 100


@dataclass(frozen=True)
class Candidate:
    """A token that could come next: its probability with the tracker and without it, and whether it was written."""

    token: str
    tracked: float
    plain: float
    written: bool


@dataclass(frozen=True)
class Story:
    """A text that was written for a rule.

    tokens      what was written, piece by piece, as it is read
    candidates  for each token the likeliest ones in its place; none for a model without a tracker
    difference  for each token how far the two distributions are apart: total variation, 0 the same, 1 disjoint
    """

    rule: Rule
    text: str
    verdict: Verdict
    matrix: StateMatrix
    tokens: tuple[str, ...]
    candidates: list[list[Candidate]]
    difference: list[float]

    @property
    def telling_step(self) -> int:
        """The step at which the tracker changes the distribution most."""
        return max(range(len(self.difference)), key=self.difference.__getitem__, default=0)


def read(text: str, known: Collection[str] = (), policy: Policy = Policy()) -> Rule:
    """The rule that was typed, or a ValueError in words: a typing error, a contradiction, a word that is not known."""
    rule = nretm.parse(text)
    if found := rule.contradictions():
        raise ValueError(f"No text can obey this rule: {'; '.join(found)}.")
    phrases = [str(argument) for literal in rule.literals for argument in nretm.rules.predicate_of(literal).arguments
               if isinstance(argument, str)]
    words = dict.fromkeys(word for phrase in phrases for word in re.findall(r"\w+", phrase.lower()))
    known_words = {word.lower() for word in known}
    if known_words and (unknown := [word for word in words if word not in known_words]):
        raise ValueError(" ".join(_unknown(word, sorted(known_words - policy.stop_words)) for word in unknown))
    return rule


def _unknown(word: str, known: list[str]) -> str:
    near = difflib.get_close_matches(word, known, n=4, cutoff=0.5) or difflib.get_close_matches(word, known, 4, 0.0)
    return f"The model does not know the word {word!r}; the nearest that it knows are {', '.join(near)}."


@torch.no_grad()
def tell(model, tokenizer, rule: Rule, beams: int = 1, enforce: bool = False) -> Story:
    """Let a model write for a rule; without a tracker it only reads the rule's expression."""
    tracked = hasattr(model, "nretm")
    policy = model.nretm.options.policy if tracked else Policy()
    options = {"num_beams": beams, "max_new_tokens": model.generation_config.max_new_tokens or MAX_NEW_TOKENS}
    options |= {"rules": [rule]} if tracked else {}
    options |= {"enforce": True} if tracked and enforce else {}
    inputs = tokenizer(str(rule), return_tensors="pt")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is broken is shown
        ids = model.generate(inputs["input_ids"], attention_mask=inputs["attention_mask"], **options)[0].tolist()[1:]
    if tokenizer.eos_token_id in ids:
        ids = ids[:ids.index(tokenizer.eos_token_id) + 1]
    tracker = Tracker.for_input(rule, inputs["input_ids"][0], tokenizer, policy)
    text = tokenizer.decode(ids, skip_special_tokens=True)
    candidates, difference = _next_tokens(model, tokenizer, tracker, ids) if tracked else ([], [])
    states = tracker.states(ids)
    tokens = tuple(after.text[len(before.text):] or ("" if after.finished else " ")
                   for before, after in zip(states, states[1:], strict=False))
    return Story(rule, text, nretm.check(rule, text, policy=policy), matrix_of(tracker, ids), tokens, candidates,
                 difference)


def _next_tokens(model, tokenizer, tracker: Tracker, ids: list[int]) -> tuple[list[list[Candidate]], list[float]]:
    """One pass of the decoder over the whole text with the state matrix, and one that leaves it out."""
    row = Row(tracker.input_ids, ids, tracker.run(ids), tracker.groups)
    batch = nretm.Collator(model, table=tracker.table)([row])
    bare = {name: batch[name] for name in ("input_ids", "attention_mask", "labels")}
    tracked, plain = (model(**part).logits[0].float().softmax(-1) for part in (batch, bare))  # (T, V)
    candidates = []
    for step, written in enumerate(ids):
        top = {*tracked[step].topk(LIKELIEST).indices.tolist(), *plain[step].topk(LIKELIEST).indices.tolist(), written}
        ranked = sorted(top, key=lambda token, step=step: -max(tracked[step, token], plain[step, token]))
        shown = [token for token in ranked[:LIKELIEST + 1] if token != written][:LIKELIEST] + [written]
        candidates.append([Candidate(_shown(tokenizer, token), float(tracked[step, token]), float(plain[step, token]),
                                     token == written) for token in sorted(shown, key=ranked.index)])
    return candidates, (0.5 * (tracked - plain).abs().sum(-1)).tolist()


def _shown(tokenizer, token: int) -> str:
    return "end" if token == tokenizer.eos_token_id else tokenizer.decode([token]).strip() or "␣"
