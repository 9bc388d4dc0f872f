"""Tables and claims from run files alone."""

from functools import partial

import numpy as np
import pandas
import pytest
from runs import share, write

from reproduction.experiments import EXPERIMENTS, STORY_RULES
from reproduction.metrics import Missing, Score
from reproduction.report import claims, markup, paper_figures, run_files, tables


@pytest.fixture(autouse=True, scope="module")
def short():
    """Intervals are tested elsewhere: a few resamples will do."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_files, "estimate", partial(run_files.estimate, resamples=40))
        yield


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """All experiments with the paper's own figures, as shares of 1,000 examples where they are per cent."""
    folder = tmp_path_factory.mktemp("paper")
    for name in (name for name, experiment in EXPERIMENTS.items() if not experiment.enforced):
        figures = {}
        for table in (paper_figures.TABLE1, paper_figures.TABLE2, paper_figures.TABLE3, paper_figures.TABLE4,
                      paper_figures.TABLE_A, paper_figures.TABLE_B):
            figures |= table.get(name, {})
        write(folder, name, {m: share(v, 1000) if v <= 100 else Score(np.array([[v / 100, 1.0]]))
                             for m, v in figures.items()})
    return folder


def test_every_experiment_of_the_paper_has_a_row_and_every_row_is_an_experiment():
    rows = paper_figures.TABLE1 | paper_figures.TABLE2 | paper_figures.TABLE3 | paper_figures.TABLE4
    assert set(rows) == {name for name, experiment in EXPERIMENTS.items()
                         if not (experiment.shipped or experiment.enforced)}
    assert set(paper_figures.TABLE_A) == set(paper_figures.TABLE_B) == {f"{r}-{m}" for r in ("r1", "r2", "r3")
                                                                for m in ("t5", "nretm")}


@pytest.mark.slow
@pytest.mark.parametrize("name", list(tables.TABLES))
def test_the_papers_own_figures_differ_from_the_papers_by_nothing(results, name):
    frame = tables.build(name, results)
    own = frame[frame["experiment"] != ""]
    assert own["missing"].isna().all() and (own["ours"] - own["paper"]).abs().max() < 0.06
    assert (own["low"] <= own["ours"]).all() and (own["ours"] <= own["high"]).all()
    tables.save(frame, name, results)
    page = (results / "tables" / f"{name}.md").read_text()
    assert page.count("\n|") == 2 + len(tables.lines(frame))
    assert (results / "tables" / f"{name}.csv").read_text().count("\n") == 1 + len(frame)
    made_with = tables.provenance(name, results)
    assert len(made_with) == len(tables.TABLES[name].paper) and set(made_with["data"]) == {"builtin: test 1,234"}
    shown = tables.shown(frame)
    differences = [column for column in shown.columns if " − " in column[1]]
    assert len(differences) == 2  # ours and the paper's
    for ours, paper in shown[differences].to_numpy():
        assert not paper or abs(float(ours) - float(paper)) < 0.25  # two figures, each rounded
    assert ("ours − paper", tables.TABLES[name].plain) not in shown.columns  # built-in text
    picture = tables.plot(frame)
    hollow = [line for axes in picture.axes for line in axes.lines if line.get_fillstyle() == "none"]
    assert hollow and {line.get_color() for line in hollow} == {tables.BLUE, tables.ORANGE}


def test_table_b_has_a_row_for_every_predicate(results):
    frame = tables.build("tableB", results)
    assert len(tables.shown(frame)) == 4 + 5 + 6
    assert len(tables.plot(frame).axes[0].get_yticks()) == 15


def test_quoted_rows_are_notes_below_the_table(results):
    page = tables.markdown(tables.build("table2", results))
    assert "\nKGBART (quoted by the paper): CIDEr 168.3, SPICE 32.7, ALL 98.6\n" in page
    assert "KGBART" not in str(tables.shown(tables.build("table2", results)))


def test_the_distance_from_the_paper_is_shown_on_real_text_only(tmp_path):
    write(tmp_path, "r1-t5", {"CSR": share(20)}, source="files")
    frame = tables.build("table1", tmp_path)
    shown = tables.shown(frame)
    assert shown["ours − paper", "T5"].tolist()[4] == "+1.5" and shown["ours − paper", "NRETM"].tolist()[4] == ""
    assert tables.notes(frame)[0] == "Ours: t5-base (5 million parameters), 3 steps, one seed."


def test_what_was_not_run_is_empty_and_says_why(tmp_path):
    write(tmp_path, "r1-t5", {"CSR": share(20), "ROUGE-L": Missing("no reference")})
    frame = tables.build("table1", tmp_path).set_index(["experiment", "measure"])
    assert frame.loc[("r1-nretm", "CSR"), "missing"] == "not run"
    assert frame.loc[("r1-t5", "ROUGE-L"), "missing"] == "no reference"
    row = tables.shown(tables.build("table1", tmp_path)).iloc[4]
    assert row["", "rule"] == "R1" and row["ours", "NRETM"] == "" and row["paper", "NRETM"] == "84.5"
    assert row["ours", "T5"].startswith("20.0 [") and row["ours", "NRETM − T5"] == ""
    assert row["paper", "NRETM − T5"] == "+66.0"
    assert "ROUGE-L of r1-t5: no reference" in tables.notes(tables.build("table1", tmp_path))


def test_enforced_figures_stand_beside_the_free_ones(tmp_path):
    for name, figure in (("r1-t5", 7), ("r1-nretm", 88), ("r1-nretm-enforced", 100)):
        write(tmp_path, name, {"CSR": share(figure)})
    frame = tables.build("table1", tmp_path)
    row = tables.shown(frame).iloc[4]
    assert row["", "rule"] == "R1" and row["ours", "NRETM − T5"] == "+81.0"
    assert row["ours, enforced", "NRETM"] == "100.0" and row["ours, enforced", "T5"] == ""
    assert tables.plot(frame).legends[0].get_texts()[2].get_text() == "NRETM, ours, enforced"


def test_claims_on_enforcement_are_our_own(tmp_path):
    for rule in STORY_RULES:
        for model in ("t5", "nretm"):
            write(tmp_path, f"{rule}-{model}", {"CSR": share(50), "ROUGE-L": share(40)})
            write(tmp_path, f"{rule}-{model}-enforced", {"CSR": share(100), "ROUGE-L": share(38)})
    ours = [each for each in claims.judge(tmp_path) if each.claim.ours]
    assert [each.outcome for each in ours] == [claims.HELD, claims.NOT_HELD, claims.NOT_RUN]
    assert claims.summary(claims.judge(tmp_path)).endswith("of our own on enforcement 1 of 2")  # that were run


def test_enforced_rows_are_compared_with_the_free_rows_of_their_own_seeds(tmp_path):
    for rule in STORY_RULES:
        write(tmp_path, f"{rule}-nretm", {"ROUGE-L": share(20)}, seed=0)
        write(tmp_path, f"{rule}-nretm", {"ROUGE-L": share(40)}, seed=1)
        write(tmp_path, f"{rule}-nretm-enforced", {"ROUGE-L": share(30)}, seed=1)
    judged = next(each for each in claims.judge(tmp_path) if "at most 1 point of ROUGE-L" in each.claim.says)
    assert judged.outcome == claims.NOT_HELD and "R1 -10.0" in judged.found  # not 0.0, which both seeds would give


def test_seeds_are_averaged(tmp_path):
    write(tmp_path, "r1-t5", {"CSR": share(20)}, seed=0)
    write(tmp_path, "r1-t5", {"CSR": share(30)}, seed=1)
    line = tables.build("table1", tmp_path).set_index(["experiment", "measure"]).loc[("r1-t5", "CSR")]
    assert line["ours"] == pytest.approx(25.0) and line["seeds"] == 2


@pytest.mark.parametrize("numbers, said", [
    ({"r1-t5": 1, "r1-nretm": 1}, "one seed"), ({"r1-t5": 3, "r1-nretm": 3}, "3 seeds"),
    ({"insen-t5": 1, "r1-t5": 3, "r1-nretm": 3}, "3 seeds of R1; one seed of the others"),
    ({"insen-t5": 1, "zeroshot-t5": 2, "zeroshot-nretm": 2}, "2 seeds of the zero-shot index; one seed of the others"),
    ({"r1-t5": 2, "r1-nretm": 2, "r1-nretm-enforced": 1}, "2 seeds of R1; one seed of the others"),
    ({"r1-t5": 2, "r1-nretm": 1}, "2 seeds of r1-t5; one seed of the others")])
def test_which_experiments_have_more_seeds_is_said(numbers, said):
    assert tables.seeds_of([{"experiment": name} for name, number in numbers.items() for _ in range(number)]) == said


def test_the_papers_figures_bear_the_papers_claims_out(results):
    outcomes = {judged.claim.says: judged for judged in claims.judge(results)}
    held = [judged.outcome for judged in outcomes.values() if not judged.claim.ours]
    # T5-Large + P_c covers no more concepts than T5-Large in the paper's own table: 93.9 and 93.9
    strict = next(judged for says, judged in outcomes.items() if says.startswith("More concepts"))
    assert strict.outcome == claims.NOT_HELD and held.count(claims.HELD) == len(held) - 1


def test_claims_without_figures_were_not_run_and_false_ones_are_not_held(tmp_path):
    assert {judged.outcome for judged in claims.judge(tmp_path)} == {claims.NOT_RUN}
    write(tmp_path, "zeroshot-nretm", {"CSA": share(95)})
    write(tmp_path, "zeroshot-t5", {"CSA": share(60)})
    frame = claims.frame(tmp_path, "table4")
    assert list(frame["verdict"]) == ["✗ not held"] and "NRETM 95.0, T5 60.0" in frame["found"][0]


def test_concepts_are_judged_without_a_larger_model_where_there_is_none(tmp_path):
    for name, covered in (("", 90), ("-pc", 95), ("-pc-hat", 99)):
        write(tmp_path, f"commongen-t5-base{name}", {"ALL": share(covered)})
    judged = next(each for each in claims.judge(tmp_path) if each.claim.says.startswith("More concepts"))
    assert judged.outcome == claims.HELD and judged.found == "base: T5 90.0, P_c 95.0, P̂_c 99.0; large: not run"


def test_a_claim_of_equality_that_fails_because_nretm_is_better_says_so(tmp_path):
    for t5, nretm, outcome in ((90, 97, claims.BETTER), (97, 90, claims.NOT_HELD), (96, 97, claims.HELD)):
        for rule in ("insen", "order"):
            write(tmp_path, f"{rule}-t5", {"CSR": share(t5)})
            write(tmp_path, f"{rule}-nretm", {"CSR": share(nretm)})
        judged = claims.judge(tmp_path)
        assert judged[1].outcome == outcome
        assert ("because NRETM is better" in claims.summary(judged)) == (outcome == claims.BETTER)


def test_said_once():
    frame = pandas.DataFrame({"seed": [0, 0], "steps": [3, 4]})
    said, rest = markup.said_once(frame)
    assert said == "The same for all: seed 0." and list(rest) == ["steps"]


def test_a_table_in_html_has_its_styles_in_it_and_escapes():
    page = markup.table(pandas.DataFrame({("", "a<b"): ["✓ held"], ("ours", "x"): ["1"], ("ours", "y"): ["2"]}))
    assert "a&lt;b" in page and "colspan='2'" in page and "text-align:left" in page and "font-weight:bold" in page


def test_minutes_of_a_resumed_run_say_so():
    run = {"seconds": {"total": 126.0}, "resumed_from": None}
    assert tables._minutes(run) == "2.1" and tables._minutes(run | {"resumed_from": 1500}) == "2.1 from step 1500"
