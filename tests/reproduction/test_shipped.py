"""The trained models that come with the repository."""

import pytest
import torch

import nretm
from reproduction import shipped, training
from reproduction.experiments import EXPERIMENTS, experiment_named
from reproduction.files import BASES_FOLDER
from reproduction.report import run_files

NAMES = [name for name, experiment in EXPERIMENTS.items() if experiment.shipped]
RULE = "InSen(planted seeds, 2) & Len(2, 8)"


@pytest.mark.parametrize("name", NAMES)
def test_small_files_and_a_card(name):
    files = [path for path in (BASES_FOLDER / name).iterdir() if path.is_file()]
    assert files and max(path.stat().st_size for path in files) < 2e6
    assert {path.suffix for path in files} == {".json", ".md", ".safetensors"}
    card = shipped.card(name)
    assert card["command"].startswith(f"python -m reproduction train {name} ") and "planted" in card["words"]
    assert shipped.readable(card) == (BASES_FOLDER / name / "README.md").read_text(encoding="utf-8")


def test_both_were_trained_alike():
    t5, ours = map(shipped.card, NAMES)
    assert t5["settings"] == ours["settings"] and t5["data"] == ours["data"]


@pytest.mark.parametrize("name", NAMES)
def test_what_is_shipped_is_what_was_trained(name, tmp_path, monkeypatch):
    """Shipped again from itself, a model writes the same and has the same card."""
    model, tokenizer = shipped.load(name)
    card = shipped.card(name)
    figures = {measure: {"value": value} for measure, value in card["figures"].items()}
    run = card | {"best_step": card["kept step"], "metrics": figures}
    monkeypatch.setattr(training, "load_trained", lambda *_, **__: shipped.load(name))
    monkeypatch.setattr(run_files, "read_run", lambda _: run)
    again, _ = shipped.load(shipped.ship(name, folder=tmp_path / name))
    assert hasattr(again, "nretm") == experiment_named(name).tracked
    for key, tensor in model.state_dict().items():
        assert torch.equal(tensor, again.state_dict()[key])


def test_a_story_in_one_call():
    model, _ = shipped.load("any-nretm")
    assert nretm.write(model, RULE).verdict.satisfied
