"""Five-sentence stories made by us: the small model of ROCStories that the demo learns in minutes.

A story has a protagonist, a theme and a style. Its five events are drawn from the theme in any order, so that no event
tells which sentence it belongs in; every event can be told in 4 to 16 words, because the slots around it are filled
until the sentence has exactly the length and the number of stop words that were drawn beforehand. The words of an event
occur in one sentence of the story only, and every storyline phrase has one of them: a phrase that stands in the
right sentence was put there. What fills the slots is the same throughout a story, its style, so that a small model
has little to guess.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from functools import cache
from itertools import accumulate

from nretm.text import Policy, treebank
from reproduction.data.builtin import draw

SIZES = {"train": 20_000, "dev": 500, "test": 500}
SHORTEST, LONGEST = 4, 16
LENGTH_WEIGHTS = [1, 1, 1, 1, 0.9, 0.7, 0.55, 0.4, 0.3, 0.2, 0.15, 0.1, 0.1]  # of 4, 5, ..., 16 words: mean 7.4

NAMES = {"he": ["Tom", "Ben", "Leo", "Paul"], "she": ["Anna", "Mia", "Lucy", "Kate"]}

# Verb, object, place. With a subject and a full stop the first two make the shortest sentence, four words.
THEMES = {
    "garden": ["planted seeds in the garden", "watered flowers on the porch", "pulled weeds by the gate",
               "picked apples under the tree", "trimmed hedges at the corner", "dug holes in the ground",
               "swept leaves from the path", "fed birds at the window"],
    "kitchen": ["baked cookies in the oven", "peeled potatoes over the sink", "boiled eggs in the pot",
                "washed dishes with the sponge", "fried onions in the pan", "tasted sauces with the spoon",
                "burned pancakes on the stove", "sliced lemons on the board"],
    "beach": ["built castles in the sand", "collected shells in the bucket", "caught crabs with the net",
              "threw stones over the rocks", "watched waves from the pier", "chased gulls over the dunes",
              "dried towels in the sun", "rented boats from the captain"],
    "school": ["read books in the library", "solved puzzles on the computer", "wrote letters with the pen",
               "drew maps on the paper", "learned poems for the teacher", "answered questions in the exam",
               "sharpened pencils at the desk", "borrowed rulers from the neighbor"],
    "farm": ["milked cows in the barn", "brushed horses in the stable", "stacked bales on the cart",
             "repaired fences with the hammer", "drove tractors over the hill", "painted doors on the shed",
             "loaded trucks at the market", "gathered feathers from the coop"],
    "camp": ["pitched tents in the forest", "lit fires with the match", "packed blankets in the car",
             "roasted sausages over the flames", "spotted foxes from the cabin", "followed trails with the compass",
             "heard owls at the lake", "filled bottles at the stream"],
}

# What may surround the event, slot by slot in the order of the sentence. Fillers that stand together have as many
# words and as many stop words; a style has one of them. None but those next to the event has a word of its own
# that is no stop word, so that RAKE finds no phrase without a word of the event.
OPENERS = [["then", "once"], ["after that,", "before this,"], ["now and then,", "from then on,"]]
ADVERBS = [["slowly", "happily", "proudly", "quickly"], ["just"], ["very slowly", "very calmly"]]
DETERMINERS = [["the", "some", "{his}"], ["three", "several"], ["all the", "some more"],
               ["some of the", "all of {his}"]]
ADJECTIVES = [["old", "new", "little", "lovely"], ["other"], ["very big", "very good"], ["nice new", "fine old"]]
PLACE = [["{place}"]]
MANNERS = [["together", "alone", "twice"], ["early today", "late yesterday"]]
ENDINGS = [["again", "too"], ["once more", "as before"], ["on {his} own", "all by {him}self"],
           ["just as {he} had before"]]
SLOTS = [(OPENERS, 3), (ADVERBS, 3), (DETERMINERS, 2), (ADJECTIVES, 3), (PLACE, 1), (MANNERS, 2), (ENDINGS, 3)]
PRONOUNS = {"he": {"he": "he", "his": "his", "him": "him"}, "she": {"he": "she", "his": "her", "him": "her"}}

Cost = tuple[int, int]  # words and stop words


def cost(filler: str) -> Cost:
    words = [word.lower() for word in treebank(filler.format(place="in the garden", **PRONOUNS["he"]))]
    return len(words), sum(word in Policy().stop_words for word in words)


@cache
def _costs() -> list[list[Cost]]:
    """For every slot the cost of leaving it empty, as many times as that weighs, and of each kind of filler."""
    return [[(0, 0)] * empty + [cost(fillers[0]) for fillers in kinds] for kinds, empty in SLOTS]


@cache
def _ways() -> list[Counter]:
    """For every slot how many ways there are to spend a cost on it and on those after it."""
    ways = [Counter({(0, 0): 1})]
    for costs in reversed(_costs()):
        total: Counter = Counter()
        for words, stops in costs:
            for (words_behind, stops_behind), number in ways[0].items():
                total[words + words_behind, stops + stops_behind] += number
        ways.insert(0, total)
    return ways


@cache
def _stop_words(words: int) -> tuple[list[int], list[float]]:
    """How many stop words the fillers may have, with cumulative weights: rare counts more often than by chance."""
    possible = {stops: ways for (length, stops), ways in sorted(_ways()[0].items()) if length == words}
    return list(possible), list(accumulate(ways ** 0.5 for ways in possible.values()))


@cache
def _kinds(slot: int, left: Cost) -> tuple[list[int], list[int]]:
    """Which kinds of filler a slot may take if it and those after it must cost `left`, with cumulative weights."""
    behind = [_ways()[slot + 1][left[0] - words, left[1] - stops] for words, stops in _costs()[slot]]
    return list(range(len(behind))), list(accumulate(behind))


def _fill(words: int, rng: random.Random) -> list[int]:
    """A kind of filler for every slot, so that they have exactly `words` words together; -1 leaves it empty."""
    stops, weights = _stop_words(words)
    left = words, rng.choices(stops, cum_weights=weights)[0]
    fillers = []
    for slot, (_, empty) in enumerate(SLOTS):
        kinds, weights = _kinds(slot, left)
        kind = rng.choices(kinds, cum_weights=weights)[0]
        spent = _costs()[slot][kind]
        left = left[0] - spent[0], left[1] - spent[1]
        fillers.append(max(kind - empty, -1))
    return fillers


@dataclass(frozen=True)
class Style:
    """How a story is told: one filler of every kind."""

    fillers: tuple[tuple[str, ...], ...]

    @classmethod
    def draw(cls, rng: random.Random) -> Style:
        return cls(tuple(tuple(rng.choice(fillers) for fillers in kinds) for kinds, _ in SLOTS))

    def tell(self, subject: str, event: str, kinds: list[int]) -> str:
        verb, thing, place = event.split(maxsplit=2)
        opener, adverb, determiner, adjective, where, manner, ending = (
            self.fillers[slot][kind] if kind >= 0 else "" for slot, kind in enumerate(kinds))
        parts = [opener, subject, adverb, verb, determiner, adjective, thing, where.format(place=place), manner, ending]
        return " ".join(part for part in parts if part)


def story(rng: random.Random) -> list[str]:
    """One story: five sentences. The first and one other name the protagonist, most of the others say he or she.

    A name that stood in the first sentence only would be a storyline phrase that every story puts into the right place.
    """
    he = rng.choice(list(NAMES))
    name, events, style = rng.choice(NAMES[he]), rng.choice(list(THEMES.values())), Style.draw(rng)
    named = {0, rng.randint(1, 4)}
    sentences = []
    for place, event in enumerate(rng.sample(events, 5)):
        subject = name if place in named or rng.random() < 0.1 else he
        length = rng.choices(range(SHORTEST, LONGEST + 1), LENGTH_WEIGHTS)[0]
        words = style.tell(subject, event, _fill(length - SHORTEST, rng)).format(**PRONOUNS[he])
        sentences.append(words[0].upper() + words[1:] + rng.choices(".!", [9, 1])[0])
    return sentences


def stories(split: str, size: int | None = None, seed: int = 0) -> list[list[str]]:
    """The stories of a split; no story is in two splits or twice in one."""
    rng = random.Random(f"stories {seed}")
    seen: set[tuple[str, ...]] = set()

    def new(_: str) -> list[str] | None:
        drawn = story(rng)
        if tuple(drawn) in seen:
            return None
        seen.add(tuple(drawn))
        return drawn

    return draw(split, SIZES, size, new)


def vocabulary() -> list[str]:
    """Every word that a story or a storyline phrase can hold, sorted; phrases are in lower case."""
    texts = [event for events in THEMES.values() for event in events]
    for kinds, _ in SLOTS:
        texts += [filler for fillers in kinds for filler in fillers if filler != "{place}"]
    words = {word for text in texts for he in PRONOUNS for word in treebank(text.format(**PRONOUNS[he]))}
    first = {"He", "She", *(opener.split()[0].capitalize() for kind in OPENERS for opener in kind)}
    first = first.union(*NAMES.values())
    return sorted(words | first | {word.lower() for word in first})
