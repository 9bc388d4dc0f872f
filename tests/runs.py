"""Run files with figures of the tests' choice."""

import numpy as np

from reproduction.metrics import Score
from reproduction.report.run_files import run_path, write_run


def share(per_cent: float, n: int = 200) -> Score:
    hits = round(per_cent * n / 100)
    return Score(np.array([(i < hits, 1) for i in range(n)], dtype=float))


def write(results, name: str, scores: dict, seed: int = 0, source: str = "builtin") -> None:
    record = {"experiment": name, "profile": "demo", "seed": seed, "steps": 3, "split": "test",
              "settings": {"model": "t5-base", "batch": 32}, "parameters": {"total": 5_000_000}, "commit": "abc",
              "data": {"test": {"source": source, "examples": 1234}},
              "versions": {"torch": "2", "transformers": "5"}, "hardware": {"cpu": "x", "gpu": None},
              "seconds": {"total": 90.0}, "command": "python -m reproduction train"}
    write_run(run_path(results, name, seed), record, scores, None)
