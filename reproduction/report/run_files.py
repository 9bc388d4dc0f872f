"""Run files: one JSON file per run under results/<profile>/runs, and all that a table needs from them.

A run file has the figures with their per-example statistics, so that intervals and averages over seeds need neither
the texts nor a GPU. It is written whole or not at all, and last of all: what it names is there.
"""

import json
import os
import platform
import subprocess
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import numpy as np

from reproduction.files import run_name, write_whole
from reproduction.metrics import Estimate, Missing, Score, estimate

PACKAGES = ("torch", "transformers", "tokenizers", "accelerate", "datasets", "numpy", "nltk", "rake-nltk",
            "lemminflect", "pycocoevalcap", "sacrebleu", "rouge_score")
REQUIRED = ("experiment", "profile", "seed", "steps", "split", "metrics", "settings", "data", "versions", "hardware",
            "seconds", "commit", "command")


def run_path(results: str | Path, experiment: str, seed: int) -> Path:
    return Path(results) / "runs" / f"{run_name(experiment, seed)}.json"


def write_run(path: Path, record: dict, scores: dict[str, Score | Missing], generations: list[dict] | None) -> None:
    """Write a run file and, beside it, what was generated; `generations` is None for data that is not ours."""
    texts = path.with_suffix(".jsonl")
    record = record | {"metrics": {name: _as_json(score) for name, score in scores.items()},
                       "generations": texts.name if generations is not None else None}
    if lacking := [key for key in REQUIRED if key not in record]:
        raise ValueError(f"A run file needs {', '.join(lacking)}.")
    if generations is not None:
        write_whole(texts, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in generations))
    else:
        texts.unlink(missing_ok=True)
    lines = ",\n".join(f"{json.dumps(key)}: {_one_line_each(value)}" for key, value in record.items())
    write_whole(path, "{\n" + lines + "\n}\n")


def read_run(path: Path) -> dict:
    """A run file as written, with the scores under "scores"."""
    return parse_run(Path(path).read_text(encoding="utf-8"), path)


def parse_run(text: str, path: Path | str) -> dict:
    """The contents of a run file; the path is for the message if it is none."""
    try:
        record = json.loads(text)
        return record | {"scores": {name: _from_json(cell) for name, cell in record["metrics"].items()}}
    except (json.JSONDecodeError, KeyError) as error:
        raise ValueError(f"{path} is not a run file ({type(error).__name__}): delete it and run again.") from error


def read_runs(results: str | Path) -> dict[str, list[dict]]:
    """All runs of a profile's results folder, by experiment, in the order of their seeds."""
    found: dict[str, list[dict]] = {}
    for record in map(read_run, sorted((Path(results) / "runs").glob("*.json"))):
        found.setdefault(record["experiment"], []).append(record)
    return {name: sorted(runs, key=lambda run: run["seed"]) for name, runs in found.items()}


def generations(path: Path) -> list[dict]:
    """What a run generated: id, rule, output, … per row; empty where the data is not ours."""
    texts = Path(path).with_suffix(".jsonl")
    return [json.loads(line) for line in texts.read_text(encoding="utf-8").splitlines()] if texts.exists() else []


def figure(runs: list[dict], metric: str) -> Estimate | Missing:
    """A measure over all seeds that were run, with its interval, or why there is none."""
    scores = _scores(runs, metric)
    return scores if isinstance(scores, Missing) else estimate(scores)


def mean(runs: list[dict], metric: str) -> float | Missing:
    """The same without its interval, which takes a while."""
    scores = _scores(runs, metric)
    return scores if isinstance(scores, Missing) else float(np.mean([score.value for score in scores]))


def _scores(runs: list[dict], metric: str) -> list[Score] | Missing:
    scores = [run["scores"][metric] for run in runs if metric in run["scores"]]
    if not scores:
        return Missing("not run" if not runs else f"{metric} was not measured")
    return next((score for score in scores if isinstance(score, Missing)), scores)


def surroundings() -> dict:
    """What else a figure depends on: versions, hardware, commit, time."""
    import torch  # only those who train have to wait for it
    threads = torch.get_num_threads()
    gpu = torch.cuda.get_device_name(0) if torch.cuda.is_available() else None
    return {
        "versions": {"python": platform.python_version()} | {name: version(name) for name in PACKAGES},
        "hardware": {"cpu": _cpu(), "cores": os.cpu_count(), "threads": threads, "gpu": gpu},
        "commit": _commit(),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _as_json(score: Score | Missing) -> dict:
    if isinstance(score, Missing):
        return {"value": None, "missing": score.reason}
    found = {name: None if value != value else value for name, value in asdict(estimate(score)).items()}  # no NaN
    return found | {"kind": score.kind, "rows": [[_short(x) for x in row] for row in score.rows.tolist()]}


def _from_json(cell: dict) -> Score | Missing:
    if "missing" in cell:
        return Missing(cell["missing"])
    return Score(np.array(cell["rows"], dtype=float), cell["kind"])


def _short(x: float) -> float | int:
    return int(x) if x == int(x) else round(x, 6)


def _one_line_each(value) -> str:
    """A dictionary with one entry per line, so that files can be read and compared."""
    if not isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    return "{\n" + ",\n".join(f" {json.dumps(key)}: {json.dumps(entry, ensure_ascii=False)}"
                              for key, entry in value.items()) + "\n}"


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def _commit() -> str | None:
    """The commit that the code is at, with a plus after it if files of the package were changed since."""
    folder = Path(__file__).parent
    try:
        head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=folder, capture_output=True, text=True, check=True)
        changed = subprocess.run(["git", "status", "--porcelain", "."], cwd=folder, capture_output=True, text=True)
        return head.stdout.strip() + ("+" if changed.stdout.strip() else "")
    except (OSError, subprocess.CalledProcessError):
        return None
