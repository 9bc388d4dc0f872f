"""CommonGen: from concept sets to the rules P_c and P^_c of Table 2 (paper, section 3.2).

Both print the same input expression, `Copy(dog) & Copy(catch) & ...`. Under P_c ("copy") a concept's flag flips when
the concept itself is written, under P^_c ("inflected") also for any of its inflections.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from nretm.rules import And, Copy, Rule, Text, check, inflected, inflections
from nretm.text import Policy
from reproduction.data.example import Example

RULES = ("copy", "inflected")
PAPER_COUNTS = {"train": 32_651, "dev": 993, "test": 1_497}
MISSED = "references that miss a concept"

Row = tuple[str, Sequence[str], Sequence[str]]  # id, concepts, references


def prepare(rows: Sequence[Row], rule: str, split: str, policy: Policy = Policy(),
            ) -> tuple[list[Example], dict[str, int]]:
    """In training one example a reference, else one a set; and how many references were left out.

    A reference that misses a concept, in whatever form, teaches a model to miss concepts: it is left out of training,
    for every model alike. Training targets are in lower case. Both as in the authors' earlier code.
    """
    if rule not in RULES:
        raise ValueError(f"unknown rule {rule!r} for concepts: choose one of {', '.join(RULES)}")
    examples, missed = [], 0
    for name, concepts, references in rows:
        strict = copies(concepts)
        loose = inflected(strict)
        wanted = strict if rule == "copy" else loose
        references = tuple(references)
        if split != "train":
            examples.append(Example(name, "", wanted, references[0] if references else "", references))
            continue
        for number, reference in enumerate(references):
            if check(loose, reference, policy=policy):
                examples.append(Example(f"{name}.{number}", "", wanted, reference.lower(), references))
            else:
                missed += 1
    return examples, {MISSED: missed}


def copies(concepts: Sequence[str]) -> Rule:
    """The rule that all concepts be mentioned."""
    parts = tuple(map(Copy, concepts))
    return And(parts) if len(parts) > 1 else parts[0]


def mentions(concepts: Iterable[str], text: str, policy: Policy = Policy()) -> dict[str, tuple[int | None, int | None]]:
    """For every concept the word, counted from 0, where it first occurs: as it stands, and in any inflected form."""
    read = Text(text, policy)
    starts = [0]
    for sentence in read.sentences:
        starts.append(starts[-1] + len(sentence))

    def first(forms: Iterable[str]) -> int | None:
        return min((starts[place.sentence - 1] + place.begin for form in forms for place in read.mentions(form)),
                   default=None)

    return {concept: (first([concept]), first(inflections(concept))) for concept in concepts}


def seen_concepts(train: Iterable[Row]) -> frozenset[str]:
    """The concepts of the training sets; all others are *novel* (the columns Seen and Novel of Table 2)."""
    return frozenset(concept for _, concepts, _ in train for concept in concepts)
