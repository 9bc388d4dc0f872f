"""COLLIE's table: every figure in its column, percents over all texts, and empty cells where nothing was run."""

import json

import pytest

from reproduction.report import collie_table


@pytest.fixture
def results(tmp_path):
    figures = {"model": "Tiny", "split": "built-in", "seed": "0", "instances": 4, "structures": {"c04": 3, "c05": 1},
               "hardware": {"cpu": "Abacus", "threads": 1}, "versions": {"torch": "2", "transformers": "5"},
               "modes": {"plain": {"c04": {"texts": 3, "ours": 0.0, "peer": None, "perplexity": 4.0}},
                         "enforced": {kind: {"texts": texts, "ours": ours, "peer": 50.0, "perplexity": 6.04,
                                             "over plain": ratio}
                                      for kind, texts, ours, ratio in [("c04", 3, 100.0, 1.5), ("c05", 1, 60.0, 1.51)]
                                      }}}
    (tmp_path / "collie").mkdir()
    (tmp_path / "collie" / "tiny.json").write_text(json.dumps(figures), encoding="utf-8")
    return tmp_path / "demo"


def test_a_table_has_a_row_for_each_structure_and_one_for_all(results):
    made, empty, head, _, *rows = collie_table.table(results, "tiny").splitlines()
    assert made == "Tiny: built-in; one thread of an Abacus, torch 2, transformers 5, seeds 0." and not empty
    assert head.split(" | ")[2:] == ["plain: texts", "ours", "COLLIE's", "perplexity", "enforced: texts", "ours",
                                     "COLLIE's", "perplexity", "over plain |"]
    cells = {row.split(" | ")[0].strip("| "): [cell.strip(" |") for cell in row.split(" | ")[1:]] for row in rows}
    assert list(cells) == [*collie_table.STRUCTURES, "all"]
    assert cells["c04"] == ["3", "3", "0.0", "", "4.0", "3", "100.0", "50.0", "6.0", "1.50"]
    assert cells["c05"] == ["1", "", "", "", "", "1", "60.0", "50.0", "6.0", "1.51"]
    assert cells["c14"] == ["0", *[""] * 9]
    assert cells["all"] == ["4", "3", "0.0", "", "", "4", "90.0", "50.0", "", ""]


def test_what_misses_the_target_is_named(results, monkeypatch):
    monkeypatch.setattr(collie_table, "SHORT", ["c04", "c05"])
    assert collie_table.fluency(results, "tiny").endswith("It is met in c04, and missed in c05 (1.51).")


def test_the_result_in_a_sentence(results):
    said = collie_table.result(results, "tiny")
    assert said.endswith("Tiny obeys in 0.0 % of 4 instances, enforced in 90.0 % (by COLLIE's own code 50.0 %; GPT-4, "
                         "as published, 50.9 %).")
