"""Every notebook, run by run_all under papermill in the smoke profile (tests/conftest.py does it once)."""

import json
from pathlib import Path

import pytest

from reproduction.runner.run import Run
from reproduction.runner.steps import all_steps

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("notebook", [path.name for path in NOTEBOOKS])
def test_runs(smoke, notebook):
    steps = [step.name for step in smoke.steps if step.notebook == notebook]
    assert steps, f"no step runs {notebook}"
    assert {name: smoke.reasons.get(name, smoke.outcome[name]) for name in steps} == dict.fromkeys(steps, "done")


@pytest.mark.parametrize("notebook", [path.name for path in NOTEBOOKS])
def test_is_stored_without_outputs_and_takes_parameters(notebook):
    cells = json.loads((ROOT / "notebooks" / notebook).read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert not any(cell["outputs"] or cell["execution_count"] for cell in code)
    assert [cell["metadata"].get("tags") for cell in code].count(["parameters"]) == 1
    assert cells[0]["cell_type"] == "markdown" and "".join(cells[0]["source"]).startswith("# ")


def test_every_step_has_its_notebook():
    assert {step.notebook for step in all_steps("demo")} == {path.name for path in NOTEBOOKS}


def test_executed_notebooks_and_results_do_not_tell_where_they_were_made(smoke):
    kinds = (".ipynb", ".json", ".jsonl", ".md", ".csv", ".html", ".svg")
    found = [path for path in smoke.folders.results.rglob("*") if path.suffix in kinds]
    texts = {path.name: path.read_text(encoding="utf-8") for path in found}
    assert len(texts) > 20
    assert not [name for name, text in texts.items() for folder in (smoke.folders.root, ROOT) if f"{folder}/" in text]


def test_report_is_a_page(smoke):
    page = (smoke.folders.results / "report.html").read_text(encoding="utf-8")
    assert "not run" in page and "Table 1" in page


def test_all_is_up_to_date_afterwards(smoke):
    assert [step.name for step in Run(smoke.steps, smoke.folders).planned] == []
