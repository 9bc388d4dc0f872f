"""The committed results of the demo: what a visitor reads is what the run files say."""

import json
import re
from pathlib import Path

import pytest

from reproduction.experiments import EXPERIMENTS
from reproduction.report import claims, page, tables
from reproduction.report.run_files import generations, read_runs, run_path

ROOT = Path(__file__).resolve().parents[3]
DEMO = ROOT / "results" / "demo"


def test_every_experiment_was_run_on_built_in_data():
    runs = read_runs(DEMO)
    trained = {name for name, experiment in EXPERIMENTS.items() if not experiment.shipped}
    assert trained <= set(runs) <= set(EXPERIMENTS)
    for name, (run, *_) in runs.items():
        assert run["data"]["test"]["source"] == "builtin" and run["profile"] == "demo"
        assert len(generations(run_path(DEMO, name, 0))) == run["data"]["test"]["examples"]


@pytest.mark.parametrize("name", tables.TABLES)
def test_tables_are_those_of_the_run_files(name, tmp_path):
    tables.save(tables.build(name, DEMO), name, tmp_path)
    for ending in ("csv", "md"):
        made, committed = (folder / "tables" / f"{name}.{ending}" for folder in (tmp_path, DEMO))
        assert made.read_text(encoding="utf-8") == committed.read_text(encoding="utf-8")


@pytest.mark.parametrize("profile", ["mini", "small"])
def test_of_real_text_there_are_figures_only(profile):
    runs = read_runs(ROOT / "results" / profile)
    assert runs and not list((ROOT / "results" / profile).rglob("*.jsonl"))
    assert all(run["generations"] is None and run["split"] == "test" for seeds in runs.values() for run in seeds)


@pytest.mark.parametrize("profile", ["mini", "small"])
def test_tables_of_real_text_are_those_of_the_run_files(profile, tmp_path):
    real = ROOT / "results" / profile
    frames = {name: tables.build(name, real) for name in tables.TABLES}
    shown = [name for name, frame in frames.items() if frame["ours"].notna().any()]
    assert shown == [name for name in tables.TABLES if (real / "tables" / f"{name}.csv").exists()]
    for name in shown:
        tables.save(frames[name], name, tmp_path)
        for ending in ("csv", "md"):
            made, committed = (folder / "tables" / f"{name}.{ending}" for folder in (tmp_path, real))
            assert made.read_text(encoding="utf-8") == committed.read_text(encoding="utf-8")
    assert (real / "claims.md").read_text(encoding="utf-8") == claims.markdown(claims.judge(real))
    assert (real / "report.html").read_text(encoding="utf-8") == page.write(real)


@pytest.mark.slow
def test_claims_and_report_are_those_of_the_run_files():
    assert (DEMO / "claims.md").read_text(encoding="utf-8") == claims.markdown(claims.judge(DEMO))
    assert (DEMO / "report.html").read_text(encoding="utf-8") == page.write(DEMO)


def test_executed_notebooks_are_for_readers():
    for path in (DEMO / "notebooks").rglob("*.ipynb"):
        text = path.read_text(encoding="utf-8")
        assert "injected-parameters" not in text and "jupyter.widget" not in text and "it/s]" not in text, path.name


def test_what_the_demo_must_show():
    def figure(name, measure):
        return json.loads(run_path(DEMO, name, 0).read_text(encoding="utf-8"))["metrics"][measure]["value"]

    assert figure("r1-nretm", "CSR") >= 85 and figure("r1-nretm", "CSR") - figure("r1-t5", "CSR") >= 50
    assert figure("zeroshot-nretm", "CSA") >= 90 and figure("zeroshot-t5", "CSA") <= 50
    assert figure("insen-t5", "CSR") >= 85 and figure("order-t5", "CSR") >= 85  # a fair baseline


def test_what_nretm_may_cost():
    kept = json.loads((DEMO / "tables" / "cost_t5_base.json").read_text(encoding="utf-8"))
    assert len(kept["rows"]) == 5 and kept["hardware"]["cpu"] and kept["versions"]["torch"]
    for row in kept["rows"]:
        assert float(row["NRETM"].split()[0]) <= float(row["target"].removeprefix("≤ ")), row["what"]


def test_nothing_tells_of_the_machine_that_made_them():
    for path in (ROOT / "results").rglob("*"):
        if path.suffix in (".json", ".jsonl", ".ipynb", ".md", ".csv", ".html", ".svg"):
            found = re.findall(r"(?<![\w.~/:])/(?:home|root|tmp|work|Users)/\S{0,40}", path.read_text(encoding="utf-8"))
            assert not found, f"{path.relative_to(ROOT)} tells of {found[0]}"
