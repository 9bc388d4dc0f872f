"""Rules of any shape: drawn at random from a small grammar over what is true of a story.

The paper trains one model per rule template and names pretraining on massive rules as future work. Here one model
sees all of them: a rule has one to six clauses; a clause is a literal, a negated literal or a disjunction of two of
which, as in the paper's thirds, only the first is true, only the second, or both. The shares of all kinds are written
in the profile. What is never in training is tested: shapes that were left out, and rules with more literals.
"""

from __future__ import annotations

import random
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from nretm.rules import And, Copy, InSen, Len, Not, Or, Order, Predicate, Rule, StopWordCount, Text, parse
from nretm.text import Policy
from reproduction.data import stories
from reproduction.data.example import Example
from reproduction.files import PROFILES_FOLDER

UNSEEN = {
    "any-order-lengths": "order with lengths",
    "any-two-negations": "two negations",
    "any-three-ways": "a disjunction of three",
    "any-nested": "nested formulas",
    "any-new-predicates": "predicates never seen",
}
LONG = "any-long"
KINDS = ("any", *UNSEEN, LONG)
MOST_LITERALS = 6  # of a rule in training
LONG_LITERALS = range(7, 11)
TEMPLATES = ("insen", "order", "r1", "r2", "r3")  # the five shapes of Table 1
COUNTS = ("len", "stop_words", "len_of_all", "stop_words_of_all")
TRIES = 30


@dataclass(frozen=True)
class Shares:
    """How often each kind is drawn: the table [any_shares] of a profile.

    rules_per_story  how many rules are drawn for each story of the training split; one elsewhere
    templates        share of the rules that have one of the five shapes of Table 1
    clauses          weights of one, two, ... six clauses in all other rules
    with_order       share of those that speak of order; the rest may speak of lengths and stop words
    the others       weights of the kinds of clauses
    """

    rules_per_story: int
    templates: float
    clauses: Sequence[float]
    with_order: float
    insen: float
    copy: float
    len: float
    stop_words: float
    len_of_all: float
    stop_words_of_all: float
    negation: float
    disjunction: float


def shares(profile: str) -> Shares:
    """The shares that are written in a profile."""
    return Shares(**tomllib.loads((PROFILES_FOLDER / f"{profile}.toml").read_text(encoding="utf-8"))["any_shares"])


def prepare(rows: Sequence[tuple[str, Sequence[str]]], kind: str, split: str, seed: int, shares: Shares,
            policy: Policy = Policy()) -> tuple[list[Example], dict[str, int]]:
    """Examples of the stories, given as (id, sentences), and how many stories were left out because nothing fitted."""
    rng = random.Random(f"rules {kind} {split} {seed}")
    told = [_Story(name, Text(" ".join(sentences), policy), stories.facts(" ".join(sentences), policy))
            for name, sentences in rows]
    grammar = _Grammar(shares, [story.facts for story in told], rng)
    examples = []
    for turn in range(shares.rules_per_story if split == "train" else 1):
        templates = _templates(rows, shares.templates, split, seed + turn, rng, policy) if kind == "any" else {}
        for story in told:
            rule = templates[story.name] if story.name in templates else grammar.draw(kind, story)
            if rule is not None:
                examples.append(Example(story.name, "", rule, story.text.text, (story.text.text,)))
    rng.shuffle(examples)
    return examples, {stories.SHORT_STORY: len(rows) - len({example.id for example in examples})}


def _templates(rows, share: float, split: str, seed: int, rng: random.Random, policy: Policy) -> dict[str, Rule]:
    """Rules of the five shapes of Table 1 for a share of the stories, by the story's name."""
    some = rng.sample(list(rows), round(share * len(rows)))
    found = {}
    for n, template in enumerate(TEMPLATES):
        examples, _ = stories.prepare(some[n::len(TEMPLATES)], template, split, seed, policy)
        found |= {example.id: example.rule for example in examples}
    return found


class _NothingToSay(Exception):
    """The story has nothing of the kind to speak of: another shape is drawn."""


@dataclass(frozen=True)
class _Story:
    name: str
    text: Text
    facts: stories.Facts


class _Grammar:
    """Draws rules that are true of a story. Every literal is held against the story before it is taken."""

    def __init__(self, shares: Shares, facts: Sequence[stories.Facts], rng: random.Random):
        self.shares, self.rng = shares, rng
        self.words = [n for known in facts for n in known.words]
        self.stop_words = [n for known in facts for n in known.stop_words]
        self.phrases = sorted({phrase for known in facts for phrases in known.phrases for phrase in phrases[:1]})
        self.thirds: list[tuple[bool, bool]] = []

    def draw(self, kind: str, story: _Story) -> Rule | None:
        """A rule of the kind, or None if the story has too little to say."""
        shape = {"any": self.ordinary, LONG: self.long, "any-order-lengths": self.order_lengths,
                 "any-two-negations": self.two_negations, "any-three-ways": self.three_ways,
                 "any-nested": self.nested, "any-new-predicates": self.new_predicates}[kind]
        sizes = LONG_LITERALS if kind == LONG else range(1, MOST_LITERALS + 1)
        for _ in range(TRIES):
            kept = list(self.thirds)
            try:
                clauses = shape(story)
            except _NothingToSay:
                clauses = []
            self.rng.shuffle(clauses)
            rule = And(tuple(clauses)) if len(clauses) > 1 else clauses[0] if clauses else None
            if rule is not None and len(set(clauses)) == len(clauses) and len(rule.literals) in sizes:
                return rule
            self.thirds = kept  # what was not used does not count
        return None

    # ---- the shapes

    def ordinary(self, story: _Story) -> list[Rule]:
        return self.some(story, self.rng.choices(range(1, 7), self.shares.clauses)[0])

    def long(self, story: _Story) -> list[Rule]:
        return self.some(story, self.rng.randint(5, 9))

    def order_lengths(self, story: _Story) -> list[Rule]:
        kinds = self.rng.choices(["len", "stop_words"], k=self.rng.randint(1, 2))
        return [*self.chain(story, self.rng.randint(1, 2)), *(self.literal(kind, story) for kind in kinds),
                *self.mentions(story, self.rng.randint(0, 2))]

    def two_negations(self, story: _Story) -> list[Rule]:
        return [self.negation(story), self.negation(story), *self.mentions(story, self.rng.randint(1, 3))]

    def three_ways(self, story: _Story) -> list[Rule]:
        true = self.rng.choice([(True, False, False), (False, True, False), (False, False, True), (True, True, False)])
        return [self.joined(Or, story, true), *self.mentions(story, self.rng.randint(1, 3))]

    def nested(self, story: _Story) -> list[Rule]:
        left, right = self.third()
        match self.rng.randrange(3):
            case 0:
                inner = Or((self.joined(And, story, (left, True)), self.joined(And, story, (right, True))))
            case 1:
                inner = Or((self.joined(And, story, (left, True)), self.literal(self.a_kind(), story, right)))
            case _:
                inner = Not(self.joined(And, story, (False, True)))
        return [inner, *self.mentions(story, self.rng.randint(1, 2))]

    def new_predicates(self, story: _Story) -> list[Rule]:
        """Ranges, every sentence, the number of sentences, the number of mentions: none is in training."""
        words, k = story.facts.words, self.rng.randrange(len(story.facts.words)) + 1
        new = [f"Len({k}, {max(1, words[k - 1] - self.rng.randint(0, 3))}..{words[k - 1] + self.rng.randint(1, 3)})",
               f"Len(every, {min(words)}..{max(words)})", f"Sentences({len(words)})"]
        if phrase := self.phrase(story, k):
            new.append(f"Count({phrase}, {len(story.text.mentions(phrase))})")
        return [*map(parse, self.rng.sample(new, self.rng.randint(1, 2))),
                *self.mentions(story, self.rng.randint(1, 2))]

    # ---- clauses

    def some(self, story: _Story, size: int) -> list[Rule]:
        """So many clauses; at most one is negated, and none speaks of lengths if one speaks of order."""
        shares, counted = self.shares, self.rng.random() >= self.shares.with_order
        kinds = ("insen", "copy", "negation", "disjunction", *(COUNTS if counted else ()))
        weights = {kind: getattr(shares, kind) for kind in kinds}
        found = [] if counted else self.chain(story, self.rng.randint(1, min(3, size)))
        while len(found) < size:
            kind = self.rng.choices(list(weights), list(weights.values()))[0]
            if kind == "negation":
                found.append(self.negation(story, counted))
                del weights["negation"]
            elif kind == "disjunction":
                found.append(self.joined(Or, story, self.third(), counted))
            else:
                found.append(self.literal(kind, story))
        return found

    def mentions(self, story: _Story, size: int) -> list[Rule]:
        return [self.literal(self.a_kind(counted=False), story) for _ in range(size)]

    def a_kind(self, counted: bool = True) -> str:
        return self.rng.choice(["insen", "copy", "len", "stop_words"] if counted else ["insen", "copy"])

    def chain(self, story: _Story, size: int) -> list[Rule]:
        places = story.facts.with_phrase(range(1, len(story.facts.words) + 1))
        if len(places) <= size:
            raise _NothingToSay
        places = sorted(self.rng.sample(places, size + 1))
        return [Order(story.facts.phrase(a), story.facts.phrase(b)) for a, b in pairwise(places)]

    def negation(self, story: _Story, counted: bool = True) -> Rule:
        return Not(self.literal(self.a_kind(counted), story, true=False))

    def joined(self, how: type[Rule], story: _Story, true: Sequence[bool], counted: bool = True) -> Rule:
        """Literals of which some are true; half of the disjunctions of two are the paper's, Len || StopWordCount."""
        if how is Or and len(true) == 2 and counted and self.rng.random() < 0.5:
            k = self.rng.randrange(len(story.facts.words)) + 1
            literals = [self.literal("len", story, true[0], k), self.literal("stop_words", story, true[1], k)]
        else:
            literals = [self.literal(self.a_kind(counted), story, value) for value in true]
        if len(set(literals)) < len(literals):
            raise _NothingToSay
        return how(tuple(literals))

    def third(self) -> tuple[bool, bool]:
        """Which sides of a disjunction are true: only the first, only the second, both, each in a third."""
        if not self.thirds:
            self.thirds = [(True, False), (False, True), (True, True)]
            self.rng.shuffle(self.thirds)
        return self.thirds.pop()

    # ---- literals

    def literal(self, kind: str, story: _Story, true: bool = True, k: int | None = None) -> Predicate:
        """A literal that is true of the story, or one that is false of it; it may speak of sentence k."""
        for _ in range(TRIES):
            found = self.proposed(kind, story, true, k or self.rng.randrange(len(story.facts.words)) + 1)
            if found is not None and found.holds(story.text) == true:
                return found
        raise _NothingToSay

    def proposed(self, kind: str, story: _Story, true: bool, k: int) -> Predicate | None:
        words, stops = story.facts.words, story.facts.stop_words
        match kind:
            case "insen":
                phrase = self.phrase(story, k if true else self.rng.randrange(len(words)) + 1)
                return phrase and InSen(phrase, k)
            case "copy":
                phrase = self.phrase(story, k) if true else self.rng.choice(self.phrases)
                return phrase and Copy(phrase)
            case "len":
                return Len(k, words[k - 1] if true else self.rng.choice(self.words))
            case "stop_words":
                return StopWordCount(k, stops[k - 1] if true else self.rng.choice(self.stop_words))
            case "len_of_all":
                return Len(sum(words))
            case "stop_words_of_all":
                return StopWordCount(sum(stops))
        raise ValueError(f"unknown kind of literal {kind!r}")

    def phrase(self, story: _Story, k: int) -> str | None:
        """A storyline phrase of sentence k or, in a third of the cases, one of its words that is no stop word."""
        phrases = story.facts.phrases[k - 1]
        words = [word for word in story.text.words(k) if word not in story.text.policy.stop_words and word.isalpha()]
        if phrases and (self.rng.random() < 2 / 3 or not words):
            return phrases[0]
        return self.rng.choice(words) if words else None
