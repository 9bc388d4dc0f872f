"""One model for any rule beside the specialists: the table, the picture and the sentences."""

import numpy as np
import pytest

from reproduction.data import any_rules
from reproduction.experiments import STORY_RULES
from reproduction.metrics import Score
from reproduction.report import any_table
from reproduction.report.any_table import csr_by_literals, csr_of
from reproduction.report.run_files import REQUIRED, run_path, write_run


def share(percent, n=200):
    return Score(np.array([[float(i < round(n * percent / 100)), 1.0] for i in range(n)]))


def write(results, name, scores, **more):
    record = dict.fromkeys(REQUIRED) | {"experiment": name, "seed": 0, "steps": 2000} | more
    write_run(run_path(results, name, 0), record, scores, None)


@pytest.fixture
def results(tmp_path):
    """NRETM for any rule is 3 points behind every specialist but R3, 20 points behind there; T5 obeys half as often."""
    for model, factor in (("t5", 0.5), ("nretm", 1.0)):
        scores = {csr_of(kind): share(80 * factor) for kind in any_table.ROWS}
        scores |= {csr_by_literals(number): share((90 - 4 * number) * factor) for number in range(1, 11)}
        if model == "nretm":
            scores |= {csr_of(kind, enforced=True): share(100, 50) for kind in any_table.ROWS}
        log = [{"step": step, "dev CSR": step / 100 * factor} for step in (1000, 2000)[:1 if model == "t5" else 2]]
        write(tmp_path, f"any-{model}", scores, log=log)
        for rule in STORY_RULES:
            write(tmp_path, f"{rule}-{model}", {"CSR": share((100 if rule == "r3" else 83) * factor)})
    return tmp_path


def test_every_kind_has_a_row_and_only_the_five_rules_have_specialists(results):
    frame = any_table.build(results)
    assert list(dict.fromkeys(frame["kind"])) == [*STORY_RULES, *any_rules.KINDS]
    assert set(frame.dropna(subset="specialist")["kind"]) == set(STORY_RULES)
    table = any_table.wide(frame)
    assert table.loc["R1", "NRETM, one for any rule (2,000 steps)"].startswith("80.0 [")
    assert table.loc["R1", "NRETM, one per rule"] == "83.0"
    assert table.loc["nested formulas", "T5, one per rule"] == ""
    assert set(table["NRETM, one for any rule, enforced"]) == {"100.0"}
    assert "T5, one for any rule, enforced" not in table


def test_what_holds_is_said_from_the_figures(results):
    specialists, unseen, t5 = any_table.findings(any_table.build(results))
    assert "R1 -3.0" in specialists and "✗" in specialists and specialists.endswith("behind on R3.")
    assert "✓" in unseen and f"{len(any_table.ROWS)} of {len(any_table.ROWS)}" in t5


def test_models_of_different_lengths_are_compared_at_the_same_step(results):
    assert any_table.same_step(results) == "After the same 1,000 steps, on dev: T5 5.0, NRETM 10.0."


def test_without_runs_nothing_is_claimed(tmp_path):
    frame = any_table.build(tmp_path)
    assert frame["any rule"].isna().all() and set(any_table.wide(frame).values.flat) == {""}
    assert any_table.findings(frame) == ["The models for any rule were not evaluated."]
    any_table.plot(tmp_path)


def test_files_and_picture(results):
    any_table.save(any_table.build(results), results)
    assert (results / "tables" / "any.md").read_text(encoding="utf-8").count("\n| ") == len(any_table.ROWS) + 2
    lines = any_table.plot(results).axes[0].get_lines()
    assert {5, 10} <= {len(line.get_xdata()) for line in lines}  # five specialists, one to ten literals
