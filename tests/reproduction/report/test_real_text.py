"""What README.md and docs/ say of real text, here made of the demo's run files."""

import shutil
from pathlib import Path

import pytest

from reproduction.files import ROOT
from reproduction.report import paper_figures, real_text
from reproduction.report.run_files import mean, read_runs


@pytest.fixture
def results(tmp_path) -> Path:
    """A folder `demo` beside `small`, which has the smaller models of Table 2, and an empty `mini`."""
    (tmp_path / "small" / "runs").mkdir(parents=True)
    for path in (ROOT / "results" / "demo" / "runs").glob("commongen-t5-base*-seed0.json"):
        shutil.copy(path, tmp_path / "small" / "runs")
    return tmp_path / "demo"


def test_concepts_stand_beside_the_papers(results):
    said = real_text.concepts(results)
    runs = read_runs(results.parent / "small")
    line = next(line for line in said.splitlines() if line.startswith("| NRETM, P̂_c |"))
    ours = [f"{mean(runs[f'commongen-t5-base-pc-hat{more}'], measure):.1f}" for more in ("", "-enforced")
            for measure in ("ALL", "CIDEr")]
    paper = paper_figures.TABLE2["commongen-t5-base-pc-hat"]
    assert line.strip("| ").split(" | ")[1:] == [*ours, str(paper["ALL"]), str(paper["CIDEr"])]
    assert f"{runs['commongen-t5-base'][0]['steps']} steps" in said


def test_a_row_that_was_not_run_is_empty(results):
    (results.parent / "small" / "runs" / "commongen-t5-base-grid-seed0.json").unlink()
    line = next(line for line in real_text.concepts(results).splitlines() if "grid" in line)
    assert line.split("|")[2:6] == ["  "] * 4


def test_curves_have_every_evaluation_of_every_training(results):
    head, _, *rows = real_text.curves(results).splitlines()
    log = read_runs(results.parent / "small")["commongen-t5-base"][0]["log"]
    assert head.count("step") == sum("dev CIDEr" in entry for entry in log)
    assert [row.split(" | ")[0].strip("| ") for row in rows] == ["T5", "NRETM, P_c", "NRETM, P̂_c"]


def test_claims_on_what_was_not_run_say_so(results):
    said = real_text.verdicts(results)
    judged = [line for line in said.splitlines() if line.startswith("| table")][1:]
    assert all(("| – not run |" in line) != line.startswith("| table2") for line in judged)
