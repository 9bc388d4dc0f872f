"""Data of the three tasks, from one of three sources, in one shape.

    examples = reproduction.data.load("rocstories", "train", rule="r1")            # made by us, the default
    examples = reproduction.data.load("rocstories", "train", "r1", source=folder)  # the official files, or JSONL
    examples = reproduction.data.load("commongen", "dev", "inflected", source="hub")
    examples.provenance                                                     # what it was made from
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
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

__all__ = ["SPLITS", "TASKS", "DataError", "Example", "Examples", "Provenance", "TaskData",
           "builtin_document_tokenizer", "builtin_tokenizer", "corpus", "load", "policy", "rows", "train_and_dev"]


@dataclass(frozen=True)
class TaskData:
    """The data of a task.

    rules           the names of the rules that can be made of it
    paper_counts    rows of each split in the paper
    policy          how its texts are cut into sentences and words
    builtin_rows    (split, size, seed) -> rows made by us, without their ids
    corpus          (training rows, seed, whether they are built-in) -> plain texts to pretrain a base on
    prepare         (rows, rule, split, seed, whether they are built-in, shares of rules of any shape, longest document)
                    -> examples, and what was left out and why
    dev_from_train  rules whose dev set is cut from train, and its size
    """

    rules: tuple[str, ...]
    paper_counts: dict[str, int | None]
    builtin_rows: Callable[[str, int | None, int], list[tuple]]
    corpus: Callable[[list[tuple], int, bool], list[str]]
    prepare: Callable[[list[tuple], str, str, int, bool, str, int | None], tuple[list[Example], dict[str, int]]]
    policy: Policy = Policy()
    dev_from_train: dict[str, int] = field(default_factory=dict)


def _story_examples(rows: list[tuple], rule: str, split: str, seed: int, builtin: bool, shares: str, document: None):
    if rule in any_rules.KINDS:
        return any_rules.prepare(rows, rule, split, seed, any_rules.shares(shares))
    return stories.prepare(rows, rule, split, seed)


def _concept_corpus(rows: list[tuple], seed: int, builtin: bool) -> list[str]:
    """References, in lower case as the training targets are. To built-in ones, sentences are added that tell of the
    novel concepts: a real base has met those words too. None of them is a reference of dev or test."""
    texts = [text for _, _, references in rows for text in references]
    return [text.lower() for text in texts + builtin_concepts.wider(seed) * builtin]


def _document_corpus(rows: list[tuple], seed: int, builtin: bool) -> list[str]:
    return [side for _, pairs in rows for part in documents.chunks(pairs, _document_length(builtin))
            for side in map(documents.SEPARATOR.join, zip(*part, strict=True))]


def _document_length(builtin: bool) -> int:
    return builtin_documents.LONGEST if builtin else documents.LONG_TALK


TASKS = {
    "rocstories": TaskData(
        (*stories.RULES, *any_rules.KINDS), stories.PAPER_COUNTS, dev_from_train=stories.DEV_FROM_TRAIN,
        builtin_rows=lambda split, size, seed: [(story,) for story in builtin_stories.stories(split, size, seed)],
        corpus=lambda rows, seed, builtin: [" ".join(sentences) for _, sentences in rows], prepare=_story_examples),
    "commongen": TaskData(
        concepts.RULES, concepts.PAPER_COUNTS, builtin_rows=builtin_concepts.sets, corpus=_concept_corpus,
        prepare=lambda rows, rule, split, seed, builtin, shares, document: concepts.prepare(rows, rule, split)),
    "ted15": TaskData(
        documents.RULES, documents.PAPER_COUNTS, policy=documents.POLICY, corpus=_document_corpus,
        builtin_rows=lambda split, size, seed: [(talk,) for talk in builtin_documents.talks(split, size, seed)],
        prepare=lambda rows, rule, split, seed, builtin, shares, document: documents.prepare(
            rows, rule, document or _document_length(builtin), None if document else documents.MOST)),
}


def policy(task: str) -> Policy:
    """How the texts of a task are cut into sentences and words."""
    return TASKS[task].policy


def rows(task: str, split: str, source: str | Path = "builtin", seed: int = 0, size: int | None = None) -> list[tuple]:
    """The data as it comes: (id, sentences), (id, concepts, references) or (id, pairs of sentences)."""
    _known(task, split)
    if str(source) == "builtin":
        drawn = TASKS[task].builtin_rows(split, size, seed)
        return [(f"{split}-{number}", *row) for number, row in enumerate(drawn)]
    found = hub.read(task, split) if str(source) == "hub" else sources.read(task, split, source)
    return found[:size]


def load(task: str, split: str, rule: str | None = None, source: str | Path = "builtin", seed: int = 0,
         size: int | None = None, shares: str = "demo", document: int | None = None) -> Examples:
    """The examples of a task: "rocstories", "commongen" or "ted15".

    rule    which rule to make, by default the first of the task's: for rocstories insen, order, r1, r2, r3,
            zeroshot, any (see any_rules); for commongen copy (P_c), inflected (P^_c); for ted15 translated
    source  "builtin", "hub" or a folder
    seed    of the rules and of built-in data
    size    take only so many rows
    shares  the profile whose [any_shares] the rules of any shape are drawn by
    document  sentences of a document at most, however many it makes of a talk; by default two to four are made
    """
    data, about = rows(task, split, source, seed, size), TASKS[task]
    builtin = str(source) == "builtin"
    examples, left_out = about.prepare(data, rule or about.rules[0], split, seed, builtin, shares, document)
    where = str(source) if str(source) in ("builtin", "hub") else "folder"
    return Examples(examples, Provenance(task, split, where, len(data), about.paper_counts[split], len(examples),
                                         left_out))


def train_and_dev(task: str, rule: str, source: str | Path = "builtin", train_size: int | None = None,
                  dev_size: int | None = None, shares: str = "demo",
                  document: int | None = None) -> tuple[Examples, Examples]:
    """What a model is trained on and what its best step is chosen by."""
    train = load(task, "train", rule, source, size=train_size, shares=shares, document=document)
    if rule not in TASKS[task].dev_from_train:
        return train, load(task, "dev", rule, source, size=dev_size, shares=shares, document=document)
    cut = len(train) - (dev_size or TASKS[task].dev_from_train[rule])
    parts = {"train": train[:cut], "dev": train[cut:]}
    return tuple(Examples(part, replace(train.provenance, split=split, examples=len(part)))
                 for split, part in parts.items())


def corpus(task: str, source: str | Path = "builtin", seed: int = 0) -> list[str]:
    """Plain training texts, for pretraining a base by denoising."""
    return TASKS[task].corpus(rows(task, "train", source, seed), seed, str(source) == "builtin")


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
