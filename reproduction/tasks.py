"""The paper's three tasks: what each is measured by, how its data is prepared, how its models generate.

Everything that differs from task to task is here or in what is named here. Training and evaluation know a task as
one `Task` object and ask nothing of its name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import nretm
import reproduction.data
from nretm.rules import Rule
from nretm.text import Policy
from reproduction import metrics
from reproduction.data import Example, Examples, documents
from reproduction.data.concepts import seen_concepts
from reproduction.data.stories import ZERO_SHOT
from reproduction.metrics import Missing, Score

Scores = dict[str, Score | Missing]


@dataclass(frozen=True)
class Task:
    """One of the paper's tasks.

    scores       (rule, examples, outputs, source of the data) -> every measure that its tables need
    dev_measure  the measure that the best step is chosen by
    dev_score    (examples, outputs) -> that measure alone
    lower_case   its models are trained on targets in lower case
    languages    of source and target, if the model begins and ends a document with its language
    phrases      (example) -> what grid beam search must place, for a task that can be decoded by it
    judged_by    (rule) -> what an output is held against, and made to obey where the rule is enforced
    """

    name: str
    scores: Callable[[str, Sequence[Example], Sequence[str], str], Scores]
    dev_measure: str
    dev_score: Callable[[Sequence[Example], Sequence[str]], Score]
    lower_case: bool = False
    languages: tuple[str, str] | None = None
    phrases: Callable[[Example], list[str]] | None = None
    judged_by: Callable[[Rule], Rule] = lambda rule: rule

    @property
    def policy(self) -> Policy:
        return reproduction.data.policy(self.name)

    @property
    def rules(self) -> tuple[str, ...]:
        return reproduction.data.TASKS[self.name].rules

    def load(self, split: str, rule: str, source: str = "builtin", size: int | None = None,
             shares: str = "demo", document: int | None = None) -> Examples:
        return reproduction.data.load(self.name, split, rule, source, size=size, shares=shares, document=document)

    def train_and_dev(self, rule: str, source: str = "builtin", train_size: int | None = None,
                      dev_size: int | None = None, shares: str = "demo",
                      document: int | None = None) -> tuple[Examples, Examples]:
        return reproduction.data.train_and_dev(self.name, rule, source, train_size, dev_size, shares, document)

    def as_trained(self, examples: Sequence[Example]) -> list[Example]:
        """The examples with references in the case in which our own models write."""
        if not self.lower_case:
            return list(examples)
        return [replace(e, references=tuple(text.lower() for text in e.references)) for e in examples]


# ---- stories: Tables 1, 4, A and B ---------------------------------------------------------------------------------

def _story_scores(rule: str, examples: Sequence[Example], outputs: Sequence[str], source: str) -> Scores:
    rules, golds = [e.rule for e in examples], [e.target for e in examples]
    scores = {"CSR": metrics.csr(rules, outputs),
              "ROUGE-L": metrics.rouge_l([e.references for e in examples], outputs),
              "five sentences": metrics.sentence_count(outputs)}
    if rule == ZERO_SHOT:
        return scores | metrics.sentence_accuracy(rules, outputs)
    if rule in ("r1", "r2", "r3"):
        scores |= {f"CSR ±{most}": metrics.csr(rules, outputs, most) for most in (1, 2)}
        scores |= metrics.predicate_csr(rules, outputs, golds)
    return scores


# ---- concepts: Table 2 -----------------------------------------------------------------------------------------------

def _concepts(example: Example) -> list[str]:
    return [literal.w for literal in example.rule.literals]


def _concept_scores(rule: str, examples: Sequence[Example], outputs: Sequence[str], source: str) -> Scores:
    loose = [nretm.inflected(e.rule) for e in examples]  # in any form: the paper's coverage
    seen = seen_concepts(reproduction.data.rows("commongen", "train", source))
    return _quality([e.references for e in examples], outputs) | {
        "CSR": metrics.csr(loose, outputs),
        **metrics.constraint_coverage([_concepts(e) for e in examples], outputs, seen)}


def _quality(references: Sequence[Sequence[str]], outputs: Sequence[str]) -> Scores:
    """CIDEr, BLEU and SPICE, case kept, as the field's published figures are computed."""
    if not all(references):  # as on the hub, where the test set comes without
        without = Missing("there are sets without references to measure against")
        return dict.fromkeys(("CIDEr", "BLEU-3", "BLEU-4", "SPICE"), without)
    return {"CIDEr": metrics.cider(references, outputs), **metrics.coco_bleu(references, outputs),
            "SPICE": metrics.spice(references, outputs)}


# ---- documents: Table 3 ----------------------------------------------------------------------------------------------

def _document_scores(rule: str, examples: Sequence[Example], outputs: Sequence[str], source: str) -> Scores:
    policy, golds = reproduction.data.policy("ted15"), [e.target for e in examples]
    return metrics.document_bleu(golds, outputs, policy) | {"SAR": metrics.sentence_aligned(golds, outputs, policy)}


def _document_bleu(examples: Sequence[Example], outputs: Sequence[str]) -> Score:
    policy = reproduction.data.policy("ted15")
    return metrics.document_bleu([e.target for e in examples], outputs, policy)["d-BLEU"]


TASKS = {task.name: task for task in (
    Task("rocstories", _story_scores, "CSR",
         lambda examples, outputs: metrics.csr([e.rule for e in examples], outputs)),
    Task("commongen", _concept_scores, "CIDEr",
         lambda examples, outputs: metrics.cider([e.references for e in examples], outputs),
         lower_case=True, phrases=_concepts, judged_by=nretm.inflected),
    Task("ted15", _document_scores, "d-BLEU", _document_bleu, languages=("zh_CN", "en_XX"),
         judged_by=documents.exactly),
)}
