"""Concept sets and sentences made by us: the small model of CommonGen.

A set names who does what to what, where, and what else they do: three to five lemmas in any order. Its references
put them into one sentence in several ways, inflected as the sentence asks (plural, third person, past, participle).
As in CommonGen no set of dev or test occurs in train, some of their concepts occur in no set of train (*novel*),
and some references in train miss a concept.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from functools import cache

from reproduction.data.builtin import draw

SIZES = {"train": 5_000, "dev": 200, "test": 300}
REFERENCES = {"train": (1, 4), "dev": (4, 4), "test": (4, 4)}
MISSING = 0.03  # share of the training references that miss a concept

PEOPLE = ["man", "woman", "boy", "girl", "dog", "player", "farmer", "teacher", "baby", "cat", "singer", "nurse"]
THINGS = {  # verb: what is done to what
    "throw": ["ball", "stick", "stone"],
    "catch": ["ball", "fish", "bird"],
    "kick": ["ball", "box", "bottle"],
    "ride": ["bike", "horse", "wagon"],
    "carry": ["bag", "box", "basket"],
    "open": ["door", "box", "letter"],
    "eat": ["apple", "cake", "fish"],
    "wash": ["car", "plate", "horse"],
    "paint": ["wall", "picture", "fence"],
    "play": ["guitar", "drum", "piano"],
    "watch": ["bird", "movie", "train"],
    "push": ["cart", "car", "wagon"],
    "pull": ["rope", "cart", "boat"],
    "cut": ["tree", "cake", "rope"],
    "draw": ["picture", "map", "horse"],
    "climb": ["tree", "wall", "ladder"],
    "hold": ["flag", "cup", "flower"],
    "repair": ["bike", "roof", "boat"],
}
PLACES = {"park": "in", "street": "on", "field": "in", "kitchen": "in", "garden": "in", "beach": "on", "river": "near",
          "school": "at", "market": "at", "room": "in", "hill": "on", "bridge": "near"}
ACTIONS = ["smile", "sing", "jump", "run", "wait", "laugh", "dance", "talk", "stand"]
AUXILIARIES = {"want to": "wants to", "can": "can", "will": "will"}  # with plural and singular subjects
NOVEL = {"nurse", "singer", "ladder", "repair", "roof", "piano", "bridge", "flag", "stand"}


@dataclass(frozen=True)
class Scene:
    """Who does what to what, and perhaps where and what else; the concepts of a set are the lemmas named."""

    who: str
    verb: str
    thing: str | None
    place: str | None
    also: str | None

    @property
    def concepts(self) -> tuple[str, ...]:
        return tuple(lemma for lemma in (self.who, self.verb, self.thing, self.place, self.also) if lemma)


@cache
def form(lemma: str, tag: str) -> str:
    """The inflected form for a Penn Treebank tag, such as NNS, VBZ, VBD, VBG, VBN."""
    import lemminflect  # loads its tables: only when it is asked

    return lemminflect.getInflection(lemma, tag)[0]


def scene(rng: random.Random) -> Scene:
    """Three concepts in a third of the scenes, four in a third, five in a third."""
    who, place, also = rng.choice(PEOPLE), rng.choice(list(PLACES)), rng.choice(ACTIONS)
    size = rng.choice((3, 4, 5))
    if size < 5 and rng.random() < 0.3:  # nobody does anything to anything
        verb = rng.choice([action for action in ACTIONS if action != also])
        return Scene(who, verb, None, place, also if size == 4 else None)
    verb = rng.choice(list(THINGS))
    thing = rng.choice(THINGS[verb])
    where = size == 5 or (size == 4 and rng.random() < 0.5)
    return Scene(who, verb, thing, place if where else None, also if size == 5 or (size == 4 and not where) else None)


def _noun(lemma: str, plural: bool, rng: random.Random) -> str:
    if plural:
        return f"{rng.choice(['two', 'some', 'the', 'three'])} {form(lemma, 'NNS')}"
    return f"{rng.choice(['the', 'an' if lemma[0] in 'aeiou' else 'a'])} {lemma}"


def sentence(scene: Scene, rng: random.Random) -> str:
    """One sentence that tells the scene."""
    many, things = rng.random() < 0.2, rng.random() < 0.2
    who, be = _noun(scene.who, many, rng), "are" if many else "is"
    thing = _noun(scene.thing, things, rng) if scene.thing else ""
    place = f"{PLACES[scene.place]} {_noun(scene.place, False, rng)}" if scene.place else ""
    manner = rng.choice(["present", "progressive", "past", *AUXILIARIES] + ["passive"] * bool(thing))

    def finite(verb: str, joined: bool = False) -> str:
        """The verb as the manner asks, the first of the sentence or one joined to it by "and"."""
        match manner:
            case "present":
                return verb if many else form(verb, "VBZ")
            case "progressive":
                return form(verb, "VBG") if joined else f"{be} {form(verb, 'VBG')}"
            case "past":
                return form(verb, "VBD")
            case _:
                return verb if joined else f"{manner if many else AUXILIARIES[manner]} {verb}"

    if manner == "passive":
        clause = f"{thing} {'are' if things else 'is'} {form(scene.verb, 'VBN')} by {who}"
        also = f"who {be} {form(scene.also, 'VBG')}" if scene.also else ""
        parts = [clause, also, place]
    else:
        clause = f"{who} {finite(scene.verb)} {thing}".strip()
        also = rng.choice([f"and {finite(scene.also, joined=True)}", f"while {form(scene.also, 'VBG')}"]
                          ) if scene.also else ""
        parts = [clause, place, also]
    if place and rng.random() < 0.3:
        parts = [f"{place},", clause, also]
    words = " ".join(part for part in parts if part)
    return words[0].upper() + words[1:] + "."


def sets(split: str, size: int | None = None, seed: int = 0) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """The concepts and references of a split; sets with novel concepts are not for training."""
    rng = random.Random(f"concepts {seed}")
    seen: set[frozenset[str]] = set()
    used: set[str] = set()

    def new(name: str) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
        drawn = scene(rng)
        concepts = frozenset(drawn.concepts)
        if concepts in seen or (name == "train" and concepts & NOVEL):
            return None
        seen.add(concepts)
        return tuple(rng.sample(drawn.concepts, len(concepts))), _references(drawn, name, used, rng)

    return draw(split, SIZES, size, new)


def wider(seed: int = 0, size: int = 3_000) -> list[str]:
    """Sentences with novel concepts for pretraining, since a pretrained model has met words that a task has not.

    None tells of a set of dev or test.
    """
    rng = random.Random(f"wider concepts {seed}")
    held_out = {frozenset(concepts) for split in ("dev", "test") for concepts, _ in sets(split, seed=seed)}
    sentences: dict[str, None] = {}
    while len(sentences) < size:
        drawn = scene(rng)
        concepts = frozenset(drawn.concepts)
        if concepts & NOVEL and concepts not in held_out:
            sentences[sentence(drawn, rng)] = None
    return list(sentences)


def _references(scene: Scene, split: str, used: set[str], rng: random.Random) -> tuple[str, ...]:
    """Sentences that tell the scene and have not been told before."""
    references: list[str] = []
    wanted = rng.randint(*REFERENCES[split])
    while len(references) < wanted:
        shown = scene
        if split == "train" and rng.random() < MISSING:  # as people do: forgets the place or what else was done
            shown = replace(scene, place=None) if scene.place and scene.also else replace(scene, also=None)
        if (words := sentence(shown, rng)) not in used:
            used.add(words)
            references.append(words)
    return tuple(references)


def vocabulary() -> list[str]:
    """Every word that a sentence or a concept set can hold, sorted."""
    nouns = {*PEOPLE, *PLACES, *(thing for things in THINGS.values() for thing in things)}
    verbs = {*THINGS, *ACTIONS}
    words = set("two some three the a an is are by who want wants to can will and while".split())
    words |= set(PLACES.values()) | nouns | verbs | {form(noun, "NNS") for noun in nouns}
    words |= {form(verb, tag) for verb in verbs for tag in ("VBZ", "VBD", "VBG", "VBN")}
    first = {"Two", "Some", "Three", "The", "A", "An"} | {where.capitalize() for where in PLACES.values()}
    return sorted(words | first)
