"""What README.md and docs/ say of real text, here made of the demo's run files."""

import shutil
from pathlib import Path

import pytest

from reproduction.files import ROOT
from reproduction.report import any_table, paper_figures, real_text
from reproduction.report.run_files import mean, read_runs


@pytest.fixture
def results(tmp_path) -> Path:
    """A folder `demo` beside `small`, which has the smaller models of Table 2, and an empty `mini`."""
    (tmp_path / "small" / "runs").mkdir(parents=True)
    for path in (ROOT / "results" / "demo" / "runs").glob("commongen-t5-base*-seed0.json"):
        shutil.copy(path, tmp_path / "small" / "runs")
    return tmp_path / "demo"


def test_concepts_stand_beside_the_papers(results):
    said = real_text.concepts(results, "small")
    runs = read_runs(results.parent / "small")
    line = next(line for line in said.splitlines() if line.startswith("| NRETM, P̂_c |"))
    ours = [f"{mean(runs[f'commongen-t5-base-pc-hat{more}'], measure):.1f}" for more in ("", "-enforced")
            for measure in ("ALL", "CIDEr")]
    paper = paper_figures.TABLE2["commongen-t5-base-pc-hat"]
    assert line.strip("| ").split(" | ")[1:] == [*ours, str(paper["ALL"]), str(paper["CIDEr"])]
    assert f"{runs['commongen-t5-base'][0]['steps']} steps" in said


def test_a_row_that_was_not_run_is_empty(results):
    (results.parent / "small" / "runs" / "commongen-t5-base-grid-seed0.json").unlink()
    line = next(line for line in real_text.concepts(results, "small").splitlines() if "grid" in line)
    assert line.split("|")[2:6] == ["  "] * 4


def test_curves_have_every_evaluation_of_every_training(results):
    head, _, *rows = real_text.curves(results, "small").splitlines()
    log = read_runs(results.parent / "small")["commongen-t5-base"][0]["log"]
    assert head.count("step") == sum("dev CIDEr" in entry for entry in log)
    assert [row.split(" | ")[0].strip("| ") for row in rows] == ["T5", "NRETM, P_c", "NRETM, P̂_c"]


@pytest.fixture
def with_stories(results) -> Path:
    """`mini` with R1, the zero-shot index and the T5 of concepts, the first of them enforced too."""
    (results.parent / "mini" / "runs").mkdir(parents=True)
    for name in ("r1-t5", "r1-nretm", "r1-nretm-enforced", "zeroshot-t5", "zeroshot-nretm",
                 "commongen-t5-base"):
        shutil.copy(ROOT / "results" / "demo" / "runs" / f"{name}-seed0.json", results.parent / "mini" / "runs")
    return results


def test_every_rule_has_a_row_and_what_was_not_run_is_empty(with_stories):
    runs = read_runs(with_stories.parent / "mini")
    rows = {line.split(" | ")[0].strip("| "): [cell.strip() for cell in line.split("|")[2:-1]]
            for line in real_text.result(with_stories).splitlines() if line.startswith("| ")}
    figures = [f"{mean(runs[name], 'CSR'):.1f}" for name in ("r1-t5", "r1-nretm", "r1-nretm-enforced")]
    paper = [str(paper_figures.TABLE1[name]["CSR"]) for name in ("r1-t5", "r1-nretm")]
    assert rows["R1"] == ["CSR", *figures[:2], "", figures[2], *paper]
    assert rows["zero-shot sentence index"][:3] == [
        "CSA", *(f"{mean(runs[f'zeroshot-{model}'], 'CSA'):.1f}" for model in ("t5", "nretm"))]
    assert rows["R3"][1:5] == [""] * 4
    covered = mean(runs["commongen-t5-base"], "ALL")
    assert rows["concepts covered (P̂_c)"][1:3] == [f"{covered:.1f}", ""]


def test_stories_have_every_measure_of_what_was_run(with_stories):
    said = real_text.stories(with_stories, "mini")
    measures = [line.split(" | ")[1] for line in said.splitlines() if line.startswith("| R1 |")]
    assert measures == list(dict.fromkeys([*paper_figures.TABLE1["r1-t5"], *paper_figures.TABLE_A["r1-t5"],
                                           *paper_figures.TABLE_B["r1-t5"]]))
    assert "| R2 |" not in said and said.count("zero-shot sentence index") == len(paper_figures.TABLE4["zeroshot-t5"])


def test_curves_of_stories_name_rule_and_model(with_stories):
    rows = real_text.story_curves(with_stories).splitlines()[2:]
    assert [row.split(" | ")[0].strip("| ") for row in rows] == [
        "R1, T5", "R1, NRETM", "zero-shot sentence index, T5", "zero-shot sentence index, NRETM"]


def test_the_steps_of_a_table_are_those_of_its_runs(with_stories):
    runs = read_runs(with_stories.parent / "mini")
    steps = {run["steps"] for name in runs if not name.startswith("commongen") for run in runs[name]}
    said = f"{min(steps)} to {max(steps)}" if len(steps) > 1 else f": {min(steps)}"
    assert f"{said} steps of 32" in real_text.stories(with_stories, "mini")


def test_one_model_for_any_rule_has_every_kind_and_what_holds(with_stories):
    for name in ("any-t5", "any-nretm"):
        shutil.copy(ROOT / "results" / "demo" / "runs" / f"{name}-seed0.json", with_stories.parent / "mini" / "runs")
    said = real_text.any_rule(with_stories)
    runs = read_runs(with_stories.parent / "mini")
    assert f"{mean(runs['any-nretm'], 'CSR any-nested'):.1f} [" in said
    assert said.count("\n| ") == len(any_table.ROWS) + 1 and said.count("\n- ") == 3
    row = next(line for line in real_text.result(with_stories).splitlines() if line.startswith("| any rule"))
    assert f"{mean(runs['any-t5'], 'CSR any'):.1f} | {mean(runs['any-nretm'], 'CSR any'):.1f}" in row


def test_talks_stand_beside_the_papers(results):
    for name in ("ted15-mbart", "ted15-mbart-pc"):
        shutil.copy(ROOT / "results" / "demo" / "runs" / f"{name}-seed0.json", results.parent / "small" / "runs")
    said, runs = real_text.talks(results), read_runs(results.parent / "small")
    ours = [f"{mean(runs[name], 'SAR'):.1f}" for name in ("ted15-mbart", "ted15-mbart-pc")]
    paper = [f"{paper_figures.TABLE3[name]['SAR']}" for name in ("ted15-mbart", "ted15-mbart-pc")]
    assert f"| SAR | {' | '.join([*ours, '', '', *paper])} |" in said
    assert f"{runs['ted15-mbart'][0]['data']['test']['rows']} others" in said


def test_claims_on_what_was_not_run_say_so(results):
    (results.parent / "mini").symlink_to(results.parent / "small")  # with concepts and no stories
    said = real_text.verdicts(results)
    judged = [line for line in said.splitlines() if line.startswith("| table")][1:]
    assert all(("| – not run |" in line) != line.startswith("| table2") for line in judged)
