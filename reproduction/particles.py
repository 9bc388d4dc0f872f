"""Particles: several texts for one rule grow side by side and help one another, so that what is enforced reads well.

An enforced model does not plan: it finds out that word 8 must be "dog" when it gets there.  Particles are texts that
are drawn at the same time, each with the rule enforced.  Whenever one of them passes a milestone (another predicate of
the rule has come true, another sentence has ended), it is compared with those that have passed it before, by the mean
log-probability that the model gives to the text up to there, and all follow the best: they become copies of it, and
draw on from there.  The idea is that of sequential Monte Carlo (Lew et al., 2023), with a choice in place of weights.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor
from transformers import LogitsProcessor

from nretm import Copy, WordAt
from nretm.modeling import beam_loop, end_tokens
from nretm.tracking import automaton_for, reader_for

TOP, TEMPERATURE = 40, 0.7
FAR = 1000.0  # nats, before what is not drawn
MEANT = 2.0  # nats: what is less likely than the likeliest token by more than this does not continue a word


class Particle(NamedTuple):
    """One text.

    place  where it has led in the automaton of its rule
    total  the sum of the log-probabilities of its `length` tokens
    marks  its mean log-probability at each milestone
    """

    place: object
    total: float = 0.0
    length: int = 0
    sentences: int = 0
    marks: tuple[float, ...] = ()
    ended: bool = False

    @property
    def mean(self) -> float:
        return self.total / max(self.length, 1)


class Particles:
    """The particles of a batch, `size` for each rule, as a search of `nretm.modeling.beam_loop`; for the others see
    `Drawing`."""

    def __init__(self, rules: list, tokenizer, policy, size: int, bonus: float = 0.0, meant: float = MEANT):
        self.tokenizer, self.size, self.bonus, self.meant = tokenizer, size, bonus, meant
        self.reader = reader_for(tokenizer, policy)
        self.automata = [automaton_for(rule, self.reader) for rule in rules]
        self.rows = [Particle(automaton.start) for automaton in self.automata for _ in range(size)]

    def generate(self, model, enforcer, processors: list, **inputs) -> tuple[Tensor, list[float]]:
        """The sequences of all particles, and the mean log-probability of each."""
        options = {name: enforcer.settings[name] for name in ("max_new_tokens", "eos_token_id")}
        ids = model.generate(**inputs, **options, custom_generate=self._search, num_beams=self.size, do_sample=False,
                             logits_processor=[*processors, Drawing(self), enforcer])
        return ids, [particle.mean for particle in self.rows]

    def _search(self, model, input_ids, logits_processor, stopping_criteria, generation_config, **model_kwargs):
        self.sequences, self.ends = input_ids, end_tokens(generation_config)
        return beam_loop(model, self, logits_processor, stopping_criteria, generation_config, model_kwargs)

    def advance(self, raw: Tensor, allowed: Tensor) -> Tensor:
        tokens = allowed.argmax(dim=-1)  # the enforcer has drawn it and left no other
        tokens[[particle.ended for particle in self.rows]] = self.tokenizer.pad_token_id
        gains = raw.gather(1, tokens[:, None])[:, 0].tolist()
        stepped = [particle if particle.ended else self._step(i, particle, token, gain) for i, (particle, token, gain)
                   in enumerate(zip(self.rows, tokens.tolist(), gains, strict=True))]
        parents = [first + n for first in range(0, len(stepped), self.size)
                   for n in followed(stepped[first:first + self.size])]
        self.rows, parents = [stepped[parent] for parent in parents], torch.tensor(parents)
        self.sequences = torch.cat([self.sequences[parents], tokens[parents, None]], dim=1)
        return parents

    def _step(self, row: int, particle: Particle, token: int, gain: float) -> Particle:
        total, length = particle.total + gain, particle.length + 1
        if token in self.ends:
            return particle._replace(total=total, length=length, ended=True)
        place = self.automata[row // self.size].step(particle.place, token)
        sentences = particle.sentences + (self.reader.token_bytes[token] or b"").rstrip().endswith((b".", b"!", b"?"))
        passed = sentences + sum(status == 2 for status, _ in place.now.states) - len(particle.marks)
        return Particle(place, total, length, sentences, particle.marks + (total / length,) * passed)

    def done(self) -> bool:
        return all(particle.ended for particle in self.rows)

    def best(self) -> list[tuple[float, Tensor]]:
        return [(particle.mean, ids) for particle, ids in zip(self.rows, self.sequences, strict=True)]


def followed(rows: list[Particle]) -> list[int]:
    """Whom each particle becomes a copy of: the best that has passed its last milestone, if that has not ended."""
    found = list(range(len(rows)))
    for i, particle in enumerate(rows):
        if last := len(particle.marks):
            others = [n for n, other in enumerate(rows) if len(other.marks) >= last]
            leader = max(others, key=lambda n: rows[n].marks[last - 1])
            if rows[leader].marks[last - 1] > particle.marks[last - 1] and not rows[leader].ended:
                found[i] = leader
    return found


class Meant(LogitsProcessor):
    """A token that continues a word has a chance only if the model means it, by `meant` nats: one that wants " life"
    after "walks of", where the rule has no room for another word, would write "walks oflife".  After a hyphen a word
    has to go on."""

    def __init__(self, reader, count: int, meant: float):
        self.meant = meant
        self.letters, self.ends = _letters(reader, count)

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        ends = self.ends[input_ids[:, -1:].clamp(max=len(self.ends) - 1)]  # (R, 1)
        letters = torch.nn.functional.pad(self.letters, (0, scores.shape[-1] - len(self.letters)))  # (V,)
        least = scores.amax(dim=-1, keepdim=True) - self.meant  # (R, 1)
        unmeant = (scores < least.masked_fill(ends != 1, -torch.inf)) & letters
        return scores.masked_fill(unmeant | (ends == 2) & ~letters, -torch.inf)


class Drawing(LogitsProcessor):
    """Draws for the particles: what comes out is sorted, and the enforcer takes the first that the rule allows.

    First come the TOP likeliest tokens, in random order (Gumbel noise makes the first a draw from them at TEMPERATURE),
    then the others by likelihood.  A token that begins a needed word has gained `bonus` before; one that continues a
    word has to be meant.
    """

    def __init__(self, particles: Particles):
        self.particles = particles
        self.words = Meant(particles.reader, len(particles.tokenizer), particles.meant)

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        for i, particle in enumerate(self.particles.rows if self.particles.bonus else ()):
            scores[i, self._needed(i, particle)] += self.particles.bonus
        scores = self.words(input_ids, scores)
        best, tokens = scores.topk(TOP, dim=-1)
        noise = -torch.empty_like(best).exponential_().log_()
        return scores.sub_(FAR).scatter_(1, tokens, best / TEMPERATURE + noise)

    def _needed(self, row: int, particle: Particle) -> list[int]:
        automaton, at = self.particles.automata[row // self.particles.size], particle.place.now
        literals = zip(automaton.predicates, at.memories, at.states, strict=True)
        texts = [text for predicate, memory, (status, _) in literals if isinstance(predicate, Copy | WordAt)
                 and status != 2 for text in predicate.need(memory, at).texts]
        spelled = [self.particles.tokenizer(text, add_special_tokens=False)["input_ids"] for text in texts]
        return [ids[0] for ids in spelled if ids]


@lru_cache(maxsize=4)
def _letters(reader, count: int) -> tuple[Tensor, Tensor]:
    """Of each token whether it begins with a letter or figure, (V,), and of what is written last, (V + 1,), whether it
    ends with one (1), with a hyphen (2) or otherwise (0)."""
    pieces = [reader.token_bytes[token] or b"" for token in range(count)]
    return (torch.tensor([piece[:1].isalnum() for piece in pieces]),
            torch.tensor([2 if piece[-1:] == b"-" else int(piece[-1:].isalnum()) for piece in pieces] + [0]))
