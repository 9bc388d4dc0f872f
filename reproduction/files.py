"""Where things are and how they are written, known once. Standard library only: the runner starts with it."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BASES_FOLDER = ROOT / "reproduction" / "bases"
MADE_BASES_FOLDER = ROOT / "work" / "bases"  # from text that is not ours: never committed
PROFILES_FOLDER = ROOT / "reproduction" / "profiles"


def run_name(experiment: str, seed: int) -> str:
    """What a run is called in file names, in folders and in `--only`."""
    return f"{experiment}-seed{seed}"


def results_folder(root: Path, profile: str) -> Path:
    """What is shown and committed: run files, tables, figures, executed notebooks."""
    return Path(root) / "results" / profile


def work_folder(root: Path, profile: str) -> Path:
    """What is in progress and never committed: checkpoints, trained weights, state matrices, logs."""
    return Path(root) / "work" / profile


def write_whole(path: Path, content: str | bytes) -> None:
    """Write aside and move into place: whoever reads sees the old file or the new one, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(aside, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, path)
    finally:
        aside.unlink(missing_ok=True)


@contextmanager
def folder_written_whole(place: Path) -> Iterator[Path]:
    """A folder to write into, moved to its place at the end: what has its final name is whole."""
    aside = place.with_name(f"{place.name}.{os.getpid()}.part")
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir(parents=True)
    try:
        yield aside
        os.replace(aside, place)
    except OSError:
        if not place.exists():  # else another run has made it in the meantime
            raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)
