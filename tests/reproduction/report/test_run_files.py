"""Run files: whole or not at all, and enough to rebuild a table from."""

import json

import numpy as np
import pytest

from reproduction import files
from reproduction.metrics import Missing, Score
from reproduction.report import run_files

RECORD = {key: {} for key in run_files.REQUIRED if key != "metrics"} | {"experiment": "r1-t5", "profile": "smoke"}
SCORES = {"CSR": Score(np.array([[1, 1], [0, 1], [1, 1], [1, 1]], dtype=float)), "SPICE": Missing("SPICE needs Java."),
          "Novel": Score(np.zeros((4, 2))), "BLEU": Score(np.array([[3, 2, 1, 1, 4, 3, 2, 1, 4, 4.0]]), "bleu")}


def write(folder, seed=0, generations=None):
    path = run_files.run_path(folder, "r1-t5", seed)
    run_files.write_run(path, RECORD | {"seed": seed}, SCORES, generations)
    return path


def test_a_run_comes_back_as_it_was_written(tmp_path):
    path = write(tmp_path, generations=[{"id": "a", "output": "Grüße."}])
    run = run_files.read_run(path)
    assert run["scores"]["SPICE"] == SCORES["SPICE"]
    for name in ("CSR", "Novel", "BLEU"):
        assert run["scores"][name].rows.tolist() == SCORES[name].rows.tolist()
        assert run["scores"][name].kind == SCORES[name].kind
    assert run["metrics"]["CSR"]["value"] == 75.0 and run["metrics"]["SPICE"]["value"] is None
    assert run["metrics"]["Novel"]["value"] is None, "JSON has no NaN"
    assert run_files.generations(path) == [{"id": "a", "output": "Grüße."}]


def test_texts_that_are_not_ours_leave_no_trace(tmp_path):
    path = write(tmp_path, generations=[{"output": "built in"}])
    write(tmp_path, generations=None)
    assert run_files.generations(path) == [] and not path.with_suffix(".jsonl").exists()


def test_seeds_are_pooled(tmp_path):
    for seed in (1, 0):
        write(tmp_path, seed)
    runs = run_files.read_runs(tmp_path)["r1-t5"]
    assert [run["seed"] for run in runs] == [0, 1]
    assert (run_files.figure(runs, "CSR").value, run_files.figure(runs, "CSR").seeds) == (75.0, 2)
    assert run_files.figure(runs, "SPICE") == Missing("SPICE needs Java.")
    assert run_files.figure([], "CSR") == Missing("not run")


def test_what_fails_leaves_the_old_file_and_nothing_beside(tmp_path, monkeypatch):
    path = write(tmp_path)
    before = path.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")
    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write(tmp_path)
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_run_file_must_be_complete(tmp_path):
    with pytest.raises(ValueError, match="A run file needs seed"):
        run_files.write_run(tmp_path / "x.json", {key: 0 for key in RECORD if key != "seed"}, {}, None)
    assert not (tmp_path / "x.json").exists()


def test_a_damaged_run_file_is_named(tmp_path):
    path = write(tmp_path)
    path.write_text(path.read_text()[:100])
    with pytest.raises(ValueError, match="r1-t5-seed0.json is not a run file"):
        run_files.read_runs(tmp_path)


def test_surroundings_tell_versions_and_hardware():
    found = run_files.surroundings()
    assert found["versions"]["transformers"] and found["hardware"]["cores"] >= 1
    json.dumps(found)
