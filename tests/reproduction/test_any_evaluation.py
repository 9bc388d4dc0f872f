"""One model for any rule on a folder of stories: what is trained there is evaluated there, and no story leaves it."""

import json

from reproduction import any_evaluation, training
from reproduction.data import builtin_stories
from reproduction.report import run_files
from reproduction.report.any_table import csr_of


def test_a_model_that_was_trained_on_a_folder_is_evaluated_on_it(tmp_path, monkeypatch):
    monkeypatch.setattr(any_evaluation, "KINDS", ("insen", "any"))
    folder = tmp_path / "stories" / "rocstories"
    folder.mkdir(parents=True)
    for split in ("train", "dev", "test"):
        rows = [{"sentences": [f"{sentence[:-1]} again." for sentence in story]}
                for story in builtin_stories.stories(split, size=12)]
        (folder / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    data = str(folder.parent)
    trained = run_files.read_run(training.run("any-nretm", "smoke", tmp_path, data=data, train_size=8, dev_size=2,
                                              test_size=2, steps=2, evaluate_every=2))
    path = any_evaluation.run("any-nretm", "smoke", tmp_path, size=2, data=data)
    run = run_files.read_run(path)
    assert run["steps"] == 2 and run["data"]["test"]["source"] != "builtin" and run["generations"] is None
    assert run["seconds"]["total"] > run["seconds"]["train"] == trained["seconds"]["train"]
    measures = {csr_of(kind, enforced) for kind in any_evaluation.KINDS for enforced in (False, True)}
    assert measures <= set(run["metrics"])
    assert not list(path.parent.glob("*.jsonl*")) and "again." not in path.read_text()
