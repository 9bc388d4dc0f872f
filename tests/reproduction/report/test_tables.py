"""Tables and claims from run files alone."""

import numpy as np
import pytest

from reproduction.experiments import EXPERIMENTS
from reproduction.metrics import Missing, Score
from reproduction.report import claims, paper_figures, tables
from reproduction.report.run_files import run_path, write_run


def share(per_cent: float, n: int = 200) -> Score:
    hits = round(per_cent * n / 100)
    return Score(np.array([(i < hits, 1) for i in range(n)], dtype=float))


def write(results, name: str, scores: dict, seed: int = 0) -> None:
    record = {"experiment": name, "profile": "demo", "seed": seed, "steps": 3, "split": "test",
              "settings": {"model": "t5-base", "batch": 32}, "commit": "abc",
              "data": {"test": {"source": "builtin", "examples": 1234}},
              "versions": {"torch": "2", "transformers": "5"}, "hardware": {"cpu": "x", "gpu": None},
              "seconds": {"total": 90.0}, "command": "python -m reproduction train"}
    write_run(run_path(results, name, seed), record, scores, None)


@pytest.fixture
def results(tmp_path):
    """All experiments with the paper's own figures, as shares of 1,000 examples where they are per cent."""
    for name in EXPERIMENTS:
        figures = {}
        for table in (paper_figures.TABLE1, paper_figures.TABLE2, paper_figures.TABLE3, paper_figures.TABLE4,
                      paper_figures.TABLE_A, paper_figures.TABLE_B):
            figures |= table.get(name, {})
        write(tmp_path, name, {m: share(v, 1000) if v <= 100 else Score(np.array([[v / 100, 1.0]]))
                               for m, v in figures.items()})
    return tmp_path


def test_every_experiment_of_the_paper_has_a_row_and_every_row_is_an_experiment():
    rows = paper_figures.TABLE1 | paper_figures.TABLE2 | paper_figures.TABLE3 | paper_figures.TABLE4
    assert set(rows) == {name for name, experiment in EXPERIMENTS.items() if not experiment.shipped}
    assert set(paper_figures.TABLE_A) == set(paper_figures.TABLE_B) == {f"{r}-{m}" for r in ("r1", "r2", "r3")
                                                                for m in ("t5", "nretm")}


@pytest.mark.parametrize("name", list(tables.TABLES))
def test_the_papers_own_figures_differ_from_the_papers_by_nothing(results, name):
    frame = tables.build(name, results)
    own = frame[frame["experiment"] != ""]
    assert own["missing"].isna().all() and (own["ours"] - own["paper"]).abs().max() < 0.06
    assert (own["low"] <= own["ours"]).all() and (own["ours"] <= own["high"]).all()
    tables.save(frame, name, results)
    page = (results / "tables" / f"{name}.md").read_text()
    assert page.count("\n") == 4 + frame["row"].nunique()
    assert (results / "tables" / f"{name}.csv").read_text().count("\n") == 1 + len(frame)
    shown = tables.provenance(name, results)
    assert len(shown) == len(tables.TABLES[name].paper) and set(shown["data"]) == {"builtin: test 1,234"}
    assert tables.plot(frame, name).axes


def test_quoted_rows_are_the_papers_only(results):
    frame = tables.build("table2", results)
    quoted = frame[frame["row"].str.contains("quoted")]
    assert len(quoted) == 3 and quoted["ours"].isna().all()
    assert "168.3" in tables.markdown(frame) and "KGBART (quoted by the paper)" in tables.markdown(frame)


def test_what_was_not_run_is_empty_and_says_why(tmp_path):
    write(tmp_path, "r1-t5", {"CSR": share(20), "ROUGE-L": Missing("no reference")})
    frame = tables.build("table1", tmp_path).set_index(["experiment", "measure"])
    assert frame.loc[("r1-nretm", "CSR"), "missing"] == "not run"
    assert frame.loc[("r1-t5", "ROUGE-L"), "missing"] == "no reference"
    shown = tables.wide(tables.build("table1", tmp_path))
    assert shown.loc["R1: NRETM", ("CSR", "ours")] == "" and shown.loc["R1: NRETM", ("CSR", "paper")] == "84.5"
    assert shown.loc["R1: T5", ("CSR", "ours")].startswith("20.0 [")
    assert shown.loc["R1: T5", ("CSR", "ours − paper")] == "+1.5"


def test_seeds_are_averaged(tmp_path):
    write(tmp_path, "r1-t5", {"CSR": share(20)}, seed=0)
    write(tmp_path, "r1-t5", {"CSR": share(30)}, seed=1)
    line = tables.build("table1", tmp_path).set_index(["experiment", "measure"]).loc[("r1-t5", "CSR")]
    assert line["ours"] == pytest.approx(25.0) and line["seeds"] == 2


def test_the_papers_figures_bear_the_papers_claims_out(results):
    outcomes = {judged.claim.says: judged for judged in claims.judge(results)}
    held = [judged.outcome for judged in outcomes.values()]
    # T5-Large + P_c covers no more concepts than T5-Large in the paper's own table: 93.9 and 93.9
    strict = next(judged for says, judged in outcomes.items() if says.startswith("More concepts"))
    assert strict.outcome == claims.NOT_HELD and held.count(claims.HELD) == len(held) - 1


def test_claims_without_figures_were_not_run_and_false_ones_are_not_held(tmp_path):
    assert {judged.outcome for judged in claims.judge(tmp_path)} == {claims.NOT_RUN}
    write(tmp_path, "zeroshot-nretm", {"CSA": share(95)})
    write(tmp_path, "zeroshot-t5", {"CSA": share(60)})
    frame = claims.frame(tmp_path, "table4")
    assert list(frame["outcome"]) == [claims.NOT_HELD] and "NRETM 95.0, T5 60.0" in frame["found"][0]
