"""Data of the three tasks, from one of three sources, in one shape.

    examples = reproduction.data.load("rocstories", "train", rule="r1")            # made by us, the default
    examples = reproduction.data.load("rocstories", "train", "r1", source=folder)  # the official files, or JSONL
    examples = reproduction.data.load("commongen", "dev", "inflected", source="hub")
    examples.provenance                                                     # what it was made from
"""

from __future__ import annotations

from pathlib import Path

from nretm.text import Policy
from reproduction.data import (
    any_rules,
    builtin_concepts,
    builtin_documents,
    builtin_stories,
    concepts,
    documents,
    hub,
    sources,
    stories,
)
from reproduction.data.example import SPLITS, Example, Examples, Provenance
from reproduction.data.sources import DataError

__all__ = ["SPLITS", "TASKS", "DataError", "Example", "Examples", "Provenance", "corpus",
           "builtin_document_tokenizer", "builtin_tokenizer", "load", "policy", "rows"]

TASKS = {"rocstories": stories, "commongen": concepts, "ted15": documents}


def policy(task: str) -> Policy:
    """How the texts of a task are cut into sentences and words."""
    return documents.POLICY if task == "ted15" else Policy()


def rows(task: str, split: str, source: str | Path = "builtin", seed: int = 0, size: int | None = None) -> list[tuple]:
    """The data as it comes: (id, sentences), (id, concepts, references) or (id, pairs of sentences)."""
    _known(task, split)
    if str(source) == "builtin":
        match task:
            case "rocstories":
                drawn = [(one,) for one in builtin_stories.stories(split, size, seed)]
            case "commongen":
                drawn = builtin_concepts.sets(split, size, seed)
            case _:
                drawn = [(one,) for one in builtin_documents.talks(split, size, seed)]
        return [(f"{split}-{number}", *one) for number, one in enumerate(drawn)]
    found = hub.read(task, split) if str(source) == "hub" else sources.read(task, split, source)
    return found[:size]


def load(task: str, split: str, rule: str | None = None, source: str | Path = "builtin", seed: int = 0,
         size: int | None = None, shares: str = "demo") -> Examples:
    """The examples of a task: "rocstories", "commongen" or "ted15".

    rule    which rule to make, by default the first of the task's RULES: for rocstories insen, order, r1, r2, r3,
            zeroshot, any (see any_rules); for commongen copy (P_c), inflected (P^_c); for ted15 translated
    source  "builtin", "hub" or a folder
    seed    of the rules and of built-in data
    size    take only so many rows
    shares  the profile whose [any_shares] the rules of any shape are drawn by
    """
    data = rows(task, split, source, seed, size)
    rule = rule or TASKS[task].RULES[0]
    match task:
        case "rocstories" if rule in any_rules.KINDS:
            examples, left_out = any_rules.prepare(data, rule, split, seed, any_rules.shares(shares))
        case "rocstories":
            examples, left_out = stories.prepare(data, rule, split, seed)
        case "commongen":
            examples, left_out = concepts.prepare(data, rule, split)
        case _:
            sentences = builtin_documents.LONGEST if str(source) == "builtin" else documents.LONG_TALK
            examples, left_out = documents.prepare(data, rule, sentences)
    where = str(source) if str(source) in ("builtin", "hub") else "folder"
    paper = TASKS[task].PAPER_COUNTS[split]
    return Examples(examples, Provenance(task, split, where, len(data), paper, len(examples), left_out))


def corpus(task: str, source: str | Path = "builtin", seed: int = 0) -> list[str]:
    """Plain training texts, for pretraining a base by denoising.

    For built-in concepts further sentences tell of the novel ones: a real base has met those words too. None of them
    is a reference of dev or test.
    """
    data, builtin = rows(task, "train", source, seed), str(source) == "builtin"
    match task:
        case "rocstories":
            return [" ".join(sentences) for _, sentences in data]
        case "commongen":
            told = [text for _, _, references in data for text in references]
            return [text.lower() for text in told + builtin_concepts.wider(seed) * builtin]  # as training targets are
        case _:
            longest = builtin_documents.LONGEST if builtin else documents.LONG_TALK
            return [side for _, pairs in data for part in documents.chunks(pairs, longest)
                    for side in map(documents.SEPARATOR.join, zip(*part, strict=True))]


def _known(task: str, split: str) -> None:
    if task not in TASKS:
        raise ValueError(f"unknown task {task!r}: choose one of {', '.join(TASKS)}")
    if split not in SPLITS:
        raise ValueError(f"unknown split {split!r}: choose one of {', '.join(SPLITS)}")


def __getattr__(name: str):
    if name in ("builtin_tokenizer", "builtin_document_tokenizer"):  # transformers takes seconds to import
        from reproduction.data import builtin_tokens

        return getattr(builtin_tokens, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
