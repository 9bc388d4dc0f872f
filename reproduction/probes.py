"""What a trained model is asked beyond its test split: results that need its weights, stored beside its run file.

Weights are not committed. The pages that show these results read them from results/<profile>/probes, so that a page
comes out the same in a clone without weights.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import nretm
from reproduction import metrics
from reproduction.data import Example
from reproduction.data.stories import facts
from reproduction.decoding import generate
from reproduction.experiments import Experiment
from reproduction.files import run_name, write_whole
from reproduction.settings import Settings
from reproduction.tasks import TASKS

STORIES = 200  # of the test split, for the series of second phrases


def second_phrase(model, tokenizer, experiment: Experiment, settings: Settings) -> list[dict]:
    """Table 4: the rules of the first test stories with their second phrase taken from sentence 2, 3, 4 or 5."""
    size = min(STORIES, settings.test_size or STORIES)
    test, rows = TASKS[experiment.task].load("test", experiment.rule, settings.data, size), []
    for place in (2, 3, 4, 5):
        examples = list(_second_in(test, place))
        outputs = generate(model, tokenizer, experiment, settings, examples)
        placed = metrics.sentence_accuracy([example.rule for example in examples], outputs)["CSA"]
        rows.append({"second phrase in sentence": place, "stories": len(examples), "CSA": placed.value,
                     "five sentences": metrics.sentence_count(outputs).value})
    return rows


def _second_in(examples: list[Example], place: int) -> Iterator[Example]:
    for example in examples:
        phrases = facts(example.target).phrases
        if len(phrases) >= place and phrases[place - 1]:
            yield replace(example, rule=example.rule.parts[0] & nretm.InSen(phrases[place - 1][0], place))


PROBES = {"second phrase": second_phrase}


def path(results: str | Path, name: str, seed: int) -> Path:
    return Path(results) / "probes" / f"{run_name(name, seed)}.json"


def write(results: Path, experiment: Experiment, seed: int, rows: list[dict], made_by: dict) -> None:
    """One line per row, so that files can be compared."""
    head = {"experiment": experiment.name, "seed": seed, "split": "test", "probe": experiment.probe} | made_by
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    body = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    write_whole(path(results, experiment.name, seed), "{\n" + ",\n".join([*lines, f'"rows": [\n{body}\n]']) + "\n}\n")


def read(results: str | Path, name: str, seed: int = 0) -> list[dict]:
    """The rows that were stored; none where the model has not been trained."""
    found = path(results, name, seed)
    return json.loads(found.read_text(encoding="utf-8"))["rows"] if found.is_file() else []
