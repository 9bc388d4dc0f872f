"""A task as one object: its measures fit its tables, and its splits its rules."""

import pytest

import reproduction.data
from reproduction.experiments import EXPERIMENTS
from reproduction.metrics import Missing
from reproduction.report.tables import TABLES
from reproduction.tasks import TASKS


@pytest.mark.parametrize("name", reproduction.data.TASKS)
def test_a_task_measures_what_its_tables_show(name):
    task = TASKS[name]
    for rule in task.rules:
        examples = task.load("test", rule, size=6)
        targets = [example.target for example in examples]
        scores = task.scores(rule, examples, targets, "builtin")
        shown = {measure for table in TABLES.values() for key, figures in table.paper.items() for measure in figures
                 if EXPERIMENTS[key].task == name and EXPERIMENTS[key].rule == rule}
        assert shown <= set(scores) and task.dev_measure in scores
        judged = task.dev_score(examples, targets)
        assert judged.value == scores[task.dev_measure].value


def test_concepts_without_references_are_covered_or_not_but_have_no_quality():
    examples = reproduction.data.concepts.prepare([("t", ("dog", "run"), ())], "inflected", "test")[0]
    scores = TASKS["commongen"].scores("inflected", examples, ["A dog runs."], "builtin")
    quality = [scores[name] for name in ("CIDEr", "BLEU-3", "BLEU-4", "SPICE")]
    assert all(isinstance(score, Missing) and "sets without references" in score.reason for score in quality)
    assert scores["CSR"].value == 100


def test_case_counts_except_for_models_that_write_in_lower_case():
    task = TASKS["commongen"]
    examples = task.load("test", "copy", size=40)
    outputs = [example.references[0] for example in examples]
    lower = [text.lower() for text in outputs]
    same, other = (task.dev_score(examples, written).value for written in (outputs, lower))
    assert other < same
    assert task.dev_score(task.as_trained(examples), lower).value > other
    assert TASKS["rocstories"].as_trained(examples) == examples
