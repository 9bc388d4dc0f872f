"""Rules of any shape: drawn at random from a small grammar over what is true of a story.

The paper trains one model per rule template and names pretraining on massive rules as future work. Here one model
sees all of them: a rule has one to six clauses; a clause is a literal, a negated literal or a disjunction of two of
which, as in the paper's thirds, only the first is true, only the second, or both. The shares of all kinds are written
in the profile. What is never in training is tested: shapes and predicates that were left out, and rules with more
literals.
"""

from __future__ import annotations

import random
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from nretm.rules import And, Chars, EndsWith, Not, Or, Order, Range, Rule, Sentences, WordChars
from nretm.text import Policy
from reproduction.data import stories
from reproduction.data.any_literals import TRIES, Literals, NothingToSay, Story
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
SHORTENED = range(2, 5)  # sentences of a story that was cut
LENGTHS = ("len", "stop_words", "len_of_every", "stop_words_of_every", "len_of_all", "stop_words_of_all")
MANY = ("insen", "copy", "count", "word_at", "len", "stop_words", "disjunction")  # more than one per rule
ONE = ("negation", "sentences", *LENGTHS[2:])  # at most one per rule


@dataclass(frozen=True)
class Shares:
    """How often each kind is drawn: the table [any_shares] of a profile.

    rules_per_story  how many rules are drawn for each story of the training split; one elsewhere
    templates        share of the rules that have each of the five shapes of Table 1
    shortened        share of the other rules that ask for fewer sentences, of a story that was cut
    ranges           share of the counts that are asked for as a range
    clauses          weights of one, two, ... six clauses in all other rules
    with_order       share of those that speak of order; the rest may speak of lengths and stop words
    the others       weights of the kinds of clauses
    """

    rules_per_story: int
    templates: dict[str, float]
    shortened: float
    ranges: float
    clauses: Sequence[float]
    with_order: float
    insen: float
    copy: float
    count: float
    word_at: float
    sentences: float
    len: float
    stop_words: float
    len_of_every: float
    stop_words_of_every: float
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
    known = [Story.read(name, sentences, policy) for name, sentences in rows]
    grammar = _Grammar(shares, Literals(known, shares.ranges, rng), rng)
    examples = []
    for turn in range(shares.rules_per_story if split == "train" else 1):
        templates = _templates(rows, shares.templates, split, seed + turn, rng, policy) if kind == "any" else {}
        for story, (name, sentences) in zip(known, rows, strict=True):
            cut = kind == "any" and name not in templates and rng.random() < shares.shortened
            if cut and story.size > SHORTENED[-1]:
                story = Story.read(name, sentences[:rng.choice(SHORTENED)], policy)
            rule = templates[name] if name in templates else grammar.draw(kind, story, cut)
            if rule is not None:
                examples.append(Example(name, "", rule, story.text.text, (story.text.text,)))
    rng.shuffle(examples)
    return examples, {stories.SHORT_STORY: len(rows) - len({example.id for example in examples})}


def _templates(rows, shares: dict[str, float], split: str, seed: int, rng: random.Random,
               policy: Policy) -> dict[str, Rule]:
    """Rules of the five shapes of Table 1 for a share of the stories, by the story's name."""
    shuffled, found, begin = rng.sample(list(rows), len(rows)), {}, 0
    for template in TEMPLATES:
        end = begin + round(shares[template] * len(rows))
        examples, _ = stories.prepare(shuffled[begin:end], template, split, seed, policy)
        found |= {example.id: example.rule for example in examples}
        begin = end
    return found


class _Grammar:
    """Draws rules that are true of a story."""

    def __init__(self, shares: Shares, literals: Literals, rng: random.Random):
        self.shares, self.literals, self.rng = shares, literals, rng
        self.thirds: list[tuple[bool, bool]] = []

    def draw(self, kind: str, story: Story, cut: bool = False) -> Rule | None:
        """A rule of the kind, or None if the story has too little to say; of a story that was cut, it says where."""
        shape = {"any": self.ordinary, LONG: self.long, "any-order-lengths": self.order_lengths,
                 "any-two-negations": self.two_negations, "any-three-ways": self.three_ways,
                 "any-nested": self.nested, "any-new-predicates": self.new_predicates}[kind]
        sizes = LONG_LITERALS if kind == LONG else range(1, MOST_LITERALS + 1)
        for _ in range(TRIES):
            kept = list(self.thirds)
            try:
                clauses = self.short(story) if cut else shape(story)
            except NothingToSay:
                clauses = []
            self.rng.shuffle(clauses)
            rule = And(tuple(clauses)) if len(clauses) > 1 else clauses[0] if clauses else None
            if rule is not None and len(set(clauses)) == len(clauses) and len(rule.literals) in sizes:
                return rule
            self.thirds = kept  # what was not used does not count
        return None

    # ---- the shapes

    def ordinary(self, story: Story) -> list[Rule]:
        return self.some(story, self.rng.choices(range(1, 7), self.shares.clauses)[0])

    def short(self, story: Story) -> list[Rule]:
        """An ordinary rule about fewer sentences than a story has: all of them are written, and no more."""
        ranged = self.rng.random() < self.shares.ranges
        ranged = ranged and story.size > 1  # sentences without a full stop between them count as one
        number = Range(self.rng.randint(1, story.size - 1), story.size) if ranged else story.size
        return [Sentences(number), *self.some(story, self.rng.randint(0, 5), without="sentences")]

    def long(self, story: Story) -> list[Rule]:
        return self.some(story, self.rng.randint(5, 9))

    def order_lengths(self, story: Story) -> list[Rule]:
        kinds = self.rng.choices(["len", "stop_words"], k=self.rng.randint(1, 2))
        return [*self.chain(story, self.rng.randint(1, 2)), *(self.literals.draw(kind, story) for kind in kinds),
                *self.mentions(story, self.rng.randint(0, 2))]

    def two_negations(self, story: Story) -> list[Rule]:
        return [self.negation(story), self.negation(story), *self.mentions(story, self.rng.randint(1, 3))]

    def three_ways(self, story: Story) -> list[Rule]:
        true = self.rng.choice([(True, False, False), (False, True, False), (False, False, True), (True, True, False)])
        return [self.joined(Or, story, true), *self.mentions(story, self.rng.randint(1, 3))]

    def nested(self, story: Story) -> list[Rule]:
        left, right = self.third()
        match self.rng.randrange(3):
            case 0:
                inner = Or((self.joined(And, story, (left, True)), self.joined(And, story, (right, True))))
            case 1:
                inner = Or((self.joined(And, story, (left, True)), self.literals.draw(self.a_kind(), story, right)))
            case _:
                inner = Not(self.joined(And, story, (False, True)))
        return [inner, *self.mentions(story, self.rng.randint(1, 2))]

    def new_predicates(self, story: Story) -> list[Rule]:
        """Characters, and the word at the end of a sentence: none is in training."""
        k, text = self.rng.randint(1, story.size), story.text
        size, longest = text.characters(k), max(len(word) for words in text.written for word in words)
        new = [Chars(k, self.literals.range(size, size)), WordChars(Range(0, longest)),
               EndsWith(k, text.positions(k)[-1])]
        return [*self.rng.sample(new, self.rng.randint(1, 2)), *self.mentions(story, self.rng.randint(1, 2))]

    # ---- clauses

    def some(self, story: Story, size: int, without: str = "") -> list[Rule]:
        """So many clauses; at most one is negated, and none speaks of lengths if one speaks of order."""
        ordered = self.rng.random() < self.shares.with_order and size > 0
        kinds = [kind for kind in (*MANY, *ONE) if kind != without and not (ordered and kind in LENGTHS)]
        weights = {kind: getattr(self.shares, kind) for kind in kinds}
        found = self.chain(story, self.rng.randint(1, min(3, size))) if ordered else []
        while len(found) < size:
            kind = self.rng.choices(list(weights), list(weights.values()))[0]
            if kind in ONE:
                del weights[kind]
            if kind == "negation":
                found.append(self.negation(story, not ordered))
            elif kind == "disjunction":
                found.append(self.joined(Or, story, self.third(), not ordered))
            else:
                found.append(self.literals.draw(kind, story))
        return found

    def mentions(self, story: Story, size: int) -> list[Rule]:
        return [self.literals.draw(self.a_kind(counted=False), story) for _ in range(size)]

    def a_kind(self, counted: bool = True) -> str:
        return self.rng.choice(["insen", "copy", "len", "stop_words"] if counted else ["insen", "copy"])

    def chain(self, story: Story, size: int) -> list[Rule]:
        places = story.facts.with_phrase(range(1, story.size + 1))
        if len(places) <= size:
            raise NothingToSay
        places = sorted(self.rng.sample(places, size + 1))
        return [Order(story.facts.phrase(a), story.facts.phrase(b)) for a, b in pairwise(places)]

    def negation(self, story: Story, counted: bool = True) -> Rule:
        return Not(self.literals.draw(self.a_kind(counted), story, true=False))

    def joined(self, how: type[Rule], story: Story, true: Sequence[bool], counted: bool = True) -> Rule:
        """Literals of which some are true; half of the disjunctions of two are the paper's, Len || StopWordCount."""
        if how is Or and len(true) == 2 and counted and self.rng.random() < 0.5:
            k = self.rng.randint(1, story.size)
            literals = [self.literals.draw(kind, story, value, k)
                        for kind, value in zip(("len", "stop_words"), true, strict=True)]
        else:
            literals = [self.literals.draw(self.a_kind(counted), story, value) for value in true]
        if len(set(literals)) < len(literals):
            raise NothingToSay
        return how(tuple(literals))

    def third(self) -> tuple[bool, bool]:
        """Which sides of a disjunction are true: only the first, only the second, both, each in a third."""
        if not self.thirds:
            self.thirds = [(True, False), (False, True), (True, True)]
            self.rng.shuffle(self.thirds)
        return self.thirds.pop()
