"""How a training that was stopped resumes: what makes a checkpoint whole, and whose checkpoints may be used.

Standard library only: the runner uses it too.
"""

import json
import shutil
from pathlib import Path

from reproduction.files import write_whole

FILES = ("model.safetensors", "optimizer.pt", "scheduler.pt", "trainer_state.json")
MODEL = Path("model", "model.safetensors")  # the trained weights, in a training's folder


def last_checkpoint(work: Path) -> Path | None:
    """The newest whole checkpoint in a training's folder."""
    return max(filter(is_whole, Path(work).glob("checkpoint-*")), key=step_of, default=None)


def is_whole(checkpoint: Path) -> bool:
    """Trainer writes trainer_state.json last: where it can be read, everything is there."""
    try:
        json.loads((checkpoint / "trainer_state.json").read_text(encoding="utf-8"))
    except (OSError, json.JSONDecodeError):
        return False
    return all((checkpoint / name).is_file() for name in FILES)


def step_of(checkpoint: Path) -> int:
    return int(checkpoint.name.split("-")[1])


def keep_or_clear(work: Path, note: str, made_from: str, clear: bool = False) -> None:
    """Remove checkpoints that are not whole, and all of them with the weights if the note names another origin.

    `note` is a file in the training's folder that says what its checkpoints were made from.
    """
    path = work / note
    same = not clear and path.is_file() and path.read_text(encoding="utf-8") == made_from
    for checkpoint in work.glob("checkpoint-*"):
        if not same or not is_whole(checkpoint):
            shutil.rmtree(checkpoint)
    if not same:
        shutil.rmtree((work / MODEL).parent, ignore_errors=True)
        write_whole(path, made_from)
