"""Literals about a story, true or false of it: what rules of any shape (any_rules.py) are made of.

Every literal is held against the story before it is taken. A phrase that must not occur is a tempting one: it stands in
another story that shares words with this one, its theme or its protagonist, so that the model would like to write it.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from nretm.rules import (
    BeginsWith,
    Copy,
    Count,
    Every,
    InSen,
    Len,
    Predicate,
    Range,
    Sentences,
    StopWordCount,
    Text,
    WordAt,
)
from nretm.text import Policy
from reproduction.data import stories

TRIES = 30
REACH, REACH_OF_ALL = 3, 8  # how far a range goes beyond the true number, of a sentence and of the whole story
ALIKE = 5  # stories that share a word, of which the one with most words in common tempts
FARTHEST = 5  # word of a sentence that WordAt speaks of


class NothingToSay(Exception):
    """The story has nothing of the kind to speak of: another shape is drawn."""


@dataclass(frozen=True)
class Story:
    """A story, read: its text, what can be said of its sentences, and its words that are no stop words."""

    name: str
    text: Text
    facts: stories.Facts
    words: tuple[tuple[str, ...], ...]  # by sentence

    @classmethod
    def read(cls, name: str, sentences: Sequence[str], policy: Policy) -> Story:
        text = Text(" ".join(sentences), policy)
        words = tuple(tuple(word for word in text.words(k + 1) if word not in policy.stop_words and word.isalpha())
                      for k in range(len(text.sentences)))
        return cls(name, text, stories.facts(text.text, policy), words)

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        return frozenset(word for words in self.words for word in words)

    @property
    def size(self) -> int:
        return len(self.facts.words)


class Literals:
    """Draws literals that are true of a story, or false of it.

    ranges  the share of all counts that are asked for as a range: 4..6, 4.. or ..6
    """

    def __init__(self, known: Sequence[Story], ranges: float, rng: random.Random):
        self.known, self.ranges, self.rng = known, ranges, rng
        self.words = [n for story in known for n in story.facts.words]
        self.stop_words = [n for story in known for n in story.facts.stop_words]
        self.sharing: dict[str, list[int]] = defaultdict(list)  # the stories that have a word
        for number, story in enumerate(known):
            for word in story.vocabulary:
                self.sharing[word].append(number)

    def draw(self, kind: str, story: Story, true: bool = True, k: int | None = None) -> Predicate:
        """A literal of the kind that is true of the story, or one that is false of it; it may speak of sentence k."""
        for _ in range(TRIES):
            found = self._proposed(kind, story, true, k or self.rng.randint(1, story.size))
            if found is not None and found.holds(story.text) == true:
                return found
        raise NothingToSay

    def _proposed(self, kind: str, story: Story, true: bool, k: int) -> Predicate | None:
        rng, words, stops = self.rng, story.facts.words, story.facts.stop_words
        match kind:
            case "insen":  # a false one belongs in another sentence, as in the paper's R2, or in another story
                elsewhere = not true and rng.random() < 0.5
                phrase = self.tempting(story) if elsewhere else self.phrase(story, k if true else None)
                return phrase and InSen(phrase, k)
            case "copy":
                phrase = self.phrase(story, k) if true else self.tempting(story)
                return phrase and Copy(phrase)
            case "count":
                phrase = self._repeated(story) if rng.random() < 0.5 else self.phrase(story, k)
                times = len(story.text.mentions(phrase)) if phrase else 0
                return phrase and Count(phrase, self.number(times if true else rng.randint(0, 3)))
            case "word_at":
                i = rng.randint(1, FARTHEST)
                there = story.text.positions(k if true else None)[i - 1:i] or [""]
                return (BeginsWith(k, *there) if i == 1 else WordAt(k, i, *there)) if there[0].isalpha() else None
            case "len":
                return Len(k, self.number(words[k - 1] if true else rng.choice(self.words)))
            case "stop_words":
                return StopWordCount(k, self.number(stops[k - 1] if true else rng.choice(self.stop_words)))
            case "len_of_every":
                return Len(Every(), self.range(min(words), max(words)))
            case "stop_words_of_every":
                return StopWordCount(Every(), self.range(min(stops), max(stops)))
            case "len_of_all":
                return Len(self.number(sum(words), REACH_OF_ALL))
            case "stop_words_of_all":
                return StopWordCount(self.number(sum(stops), REACH_OF_ALL))
            case "sentences":
                return Sentences(self.number(story.size))
        raise ValueError(f"unknown kind of literal {kind!r}")

    # ---- numbers

    def number(self, value: int, reach: int = REACH) -> int | Range:
        """The value, or a range that has it."""
        return self.range(value, value, reach) if self.rng.random() < self.ranges else value

    def range(self, low: int, high: int, reach: int = REACH) -> Range:
        """A range around the bounds: half have both bounds, a quarter only the lower, a quarter only the upper."""
        low, high = max(low - self.rng.randint(0, reach), 0), high + self.rng.randint(0, reach)
        bounds = self.rng.choice(["both", "both", "low", "high"])
        if bounds == "low" and low:
            return Range(low)
        return Range(low, high) if bounds == "both" and low < high else Range(0, high)

    # ---- phrases

    def phrase(self, story: Story, k: int | None = None) -> str | None:
        """A storyline phrase of sentence k or, in a third of the cases, one of its words that is no stop word."""
        k = k or self.rng.randint(1, story.size)
        phrases, words = story.facts.phrases[k - 1], story.words[k - 1]
        if phrases and (self.rng.random() < 2 / 3 or not words):
            return phrases[0]
        return self.rng.choice(words) if words else None

    def _repeated(self, story: Story) -> str | None:
        """The word that is mentioned most, such as the protagonist's name."""
        words = [word for words in story.words for word in words]
        return max(words, key=words.count, default=None)

    def tempting(self, story: Story) -> str | None:
        """A phrase of another story much like this one: half of the time of the very sentence that has a word of it."""
        words = sorted(story.vocabulary & self.sharing.keys())
        if not words:
            return None
        word = self.rng.choice(words)
        some = [self.known[number] for number in self.rng.choices(self.sharing[word], k=ALIKE)]
        other = max(some, key=lambda other: len(other.vocabulary & story.vocabulary))
        same = next(k for k, words in enumerate(other.words, 1) if word in words)
        return self.phrase(other, same if self.rng.random() < 0.5 else None)
