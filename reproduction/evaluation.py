"""From outputs to the measures of a task's table.

    python -m reproduction evaluate commongen copy outputs.txt --data DIR      anybody's outputs, one line per example
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import torch

import nretm
import reproduction.data
from nretm.tracking import TokenBytes
from reproduction import metrics
from reproduction.data.concepts import seen_concepts
from reproduction.experiments import Experiment
from reproduction.metrics import Missing, Score

DEV_MEASURE = {"rocstories": "CSR", "commongen": "CIDEr", "ted15": "d-BLEU"}  # what the best step is chosen by


def score(task: str, rule: str, examples, outputs: Sequence[str], data: str = "builtin") -> dict[str, Score | Missing]:
    """Every measure that a table needs of a task; `data` is where CommonGen's training concepts are read."""
    rules, policy = [example.rule for example in examples], reproduction.data.policy(task)
    references = [example.references for example in examples]
    if task == "commongen":
        concepts = [[literal.w for literal in rule.literals] for rule in rules]
        seen = seen_concepts(reproduction.data.rows(task, "train", data))
        return quality(references, outputs) | {"CSR": metrics.csr(list(map(nretm.inflected, rules)), outputs),
                                               **metrics.constraint_coverage(concepts, outputs, seen)}
    golds = [example.target for example in examples]
    if task == "ted15":
        found = metrics.document_bleu(golds, outputs, policy)
        return found | {"SAR": metrics.sentence_aligned(golds, outputs, policy)}
    found = {"CSR": metrics.csr(rules, outputs, policy=policy), "ROUGE-L": metrics.rouge_l(references, outputs),
             "five sentences": metrics.sentence_count(outputs)}
    if rule == "zeroshot":
        return found | metrics.sentence_accuracy(rules, outputs, policy)
    if rule in ("r1", "r2", "r3"):
        found |= {f"CSR ±{most}": metrics.csr(rules, outputs, most, policy) for most in (1, 2)}
        found |= metrics.predicate_csr(rules, outputs, golds, policy)
    return found


def quality(references, outputs: Sequence[str]) -> dict[str, Score | Missing]:
    """CIDEr, BLEU and SPICE in lower case, as the models of Table 2 write."""
    if not all(references):  # as on the hub, where the test set comes without
        without = Missing("there are sets without references to measure against")
        return dict.fromkeys(("CIDEr", "BLEU-3", "BLEU-4", "SPICE"), without)
    outputs, references = [text.lower() for text in outputs], [[ref.lower() for ref in refs] for refs in references]
    return {"CIDEr": metrics.cider(references, outputs), **metrics.coco_bleu(references, outputs),
            "SPICE": metrics.spice(references, outputs)}


def dev_score(task: str, examples, outputs: Sequence[str]) -> float:
    """The one measure that the best step is chosen by."""
    if task == "commongen":
        return metrics.cider([[ref.lower() for ref in e.references] for e in examples], outputs).value
    policy = reproduction.data.policy(task)
    if task == "ted15":
        return metrics.document_bleu([e.target for e in examples], outputs, policy)["d-BLEU"].value
    return metrics.csr([e.rule for e in examples], outputs, policy=policy).value


def texts(token_ids, tokenizer, separator: str | None = None) -> list[str]:
    """Generated tokens as text; the separator between sentences, which is a special token, is kept."""
    if separator is None:
        return tokenizer.batch_decode(token_ids, skip_special_tokens=True)
    mark = tokenizer.convert_tokens_to_ids(separator)
    return [_document(list(map(int, row)), mark, separator, tokenizer) for row in token_ids]


def _document(row: list[int], mark: int, separator: str, tokenizer) -> str:
    parts: list[list[int]] = [[]]
    for token in row:
        if token == mark:
            parts.append([])
        else:
            parts[-1].append(token)
    lines = [tokenizer.decode(part, skip_special_tokens=True).strip() for part in parts]
    while lines and not lines[-1]:
        lines.pop()
    return separator.join(lines)


def word_boundaries(tokenizer, size: int) -> torch.Tensor:
    """(V,) bool: the tokens that cannot prolong a word; for grid beam search."""
    pieces, mask = TokenBytes(tokenizer), torch.ones(size, dtype=torch.bool)
    for token in range(min(len(tokenizer), size)):
        piece = pieces[token]
        mask[token] = not piece or not piece.decode(errors="replace")[0].isalnum()
    return mask


def concept_tokens(experiment: Experiment, examples, tokenizer) -> list[list[list[int]]]:
    """The token sequences that grid beam search must place: every concept as it stands in the rule."""
    if experiment.task != "commongen":
        raise ValueError(f"Grid beam search needs concepts, which {experiment.task} has not.")
    return [[tokenizer(literal.w, add_special_tokens=False).input_ids for literal in example.rule.literals]
            for example in examples]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m reproduction evaluate", description=__doc__.splitlines()[0])
    parser.add_argument("task", choices=list(reproduction.data.TASKS))
    parser.add_argument("rule", help="as reproduction.data.load knows it: insen, order, r1, …, copy, translated")
    parser.add_argument("outputs", type=Path, help="a text file with one output a line, in the order of the split")
    parser.add_argument("--split", default="test")
    parser.add_argument("--data", default="builtin", help='"builtin", "hub" or a folder')
    asked = parser.parse_args()
    try:
        examples = reproduction.data.load(asked.task, asked.split, asked.rule, asked.data)
        outputs = asked.outputs.read_text(encoding="utf-8").splitlines()
        scores = score(asked.task, asked.rule, examples, outputs, asked.data)
    except (ValueError, OSError) as error:
        raise SystemExit(f"evaluate: {error}") from error
    print(examples.provenance)
    for name, found in scores.items():
        if isinstance(found, Missing):
            print(f"{name:16} -  {found.reason}")
        else:
            told = metrics.estimate(found)
            print(f"{name:16} {told.value:6.2f}  [{told.low:.2f}, {told.high:.2f}]")


if __name__ == "__main__":
    main()
