"""Which checkpoints a training may resume from."""

import json

import pytest

from reproduction.checkpoints import FILES, MODEL, keep_or_clear, last_checkpoint


def checkpoint(work, step):
    folder = work / f"checkpoint-{step}"
    folder.mkdir(parents=True)
    for name in FILES:
        (folder / name).write_text(json.dumps({"step": step}), encoding="utf-8")
    return folder


@pytest.mark.parametrize("lacking", FILES)
def test_half_a_checkpoint_is_not_taken_for_one(lacking, tmp_path):
    (checkpoint(tmp_path, 8) / lacking).unlink()
    assert last_checkpoint(tmp_path) is None


def test_the_newest_whole_one_counts(tmp_path):
    assert last_checkpoint(tmp_path / "nothing") is None
    whole = checkpoint(tmp_path, 9)
    assert last_checkpoint(tmp_path) == whole
    later = checkpoint(tmp_path, 10)
    assert last_checkpoint(tmp_path) == later
    (later / "trainer_state.json").write_text('{"step', encoding="utf-8")
    assert last_checkpoint(tmp_path) == whole


def test_what_was_made_from_something_else_is_removed(tmp_path):
    def left(made_from, clear=False):
        keep_or_clear(tmp_path, "note", made_from, clear)
        return sorted(path.name for path in tmp_path.iterdir())

    def fill():
        for step in (2, 4):
            checkpoint(tmp_path, step)
        (tmp_path / MODEL).parent.mkdir()
        (tmp_path / MODEL).touch()

    assert left("a") == ["note"]
    fill()
    assert left("a") == ["checkpoint-2", "checkpoint-4", "model", "note"]
    (tmp_path / "checkpoint-4" / "optimizer.pt").unlink()
    assert left("a") == ["checkpoint-2", "model", "note"]
    assert left("b") == ["note"] and (tmp_path / "note").read_text(encoding="utf-8") == "b"
    fill()
    assert left("b", clear=True) == ["note"]
