"""State matrices of prepared examples, made once and kept on disk as numbers (paper, section 2.4).

The gold output of an example decides its whole matrix, so training need not track it again every epoch. An example is
kept as its input ids, its labels, the flag numbers after every prefix of the labels (T + 1, G), and the group of every
input token (S,). They lie end to end in memory-mapped arrays, a folder for each thousand or two of examples. A folder
is written aside and moved into place, so whatever has its final name is whole, and an interrupted run continues.
"""

from __future__ import annotations

import gc
import hashlib
import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from tqdm.auto import tqdm

from nretm.text import Policy
from nretm.tracking import FlagTable, Row, number_row
from reproduction.data.example import Example
from reproduction.files import folder_written_whole

SHARD = 2_000  # examples
FORMAT = 1  # raise it when the files or what they mean change


class Matrices(Sequence):
    """The prepared examples of a folder, in order; `table` has the flag of every number."""

    def __init__(self, folders: list[Path]):
        self.table = FlagTable()
        self._shards = [_Shard(folder, self.table) for folder in folders]
        self._starts = np.cumsum([0] + [len(shard) for shard in self._shards])

    def __len__(self) -> int:
        return int(self._starts[-1])

    def __getitem__(self, number: int) -> Row:
        if not -len(self) <= number < len(self):
            raise IndexError(f"no example {number} among {len(self)}")
        number %= len(self)
        shard = int(np.searchsorted(self._starts, number, side="right")) - 1
        return self._shards[shard][number - int(self._starts[shard])]


class _Shard:
    """One folder, memory-mapped. Its flag numbers are its own; `numbers` turns them into those of the common table."""

    def __init__(self, folder: Path, table: FlagTable):
        self.sizes = np.load(folder / "sizes.npy")  # (N, 3): input tokens, labels, groups of each example
        tokens, labels, groups = self.sizes.T
        cells = (labels + 1) * groups
        self.starts = [np.cumsum(np.concatenate(([0], sizes))) for sizes in (tokens, labels, cells)]
        self.inputs, self.labels, self.columns, self.groups = (
            np.load(folder / f"{name}.npy", mmap_mode="r") for name in ("inputs", "labels", "columns", "groups"))
        flags = json.loads((folder / "flags.json").read_text(encoding="utf-8"))
        self.numbers = np.array([table.intern(flag) for flag in flags], dtype=np.int32)

    def __len__(self) -> int:
        return len(self.sizes)

    def __getitem__(self, number: int) -> Row:
        inputs, labels, cells = (slice(start[number], start[number + 1]) for start in self.starts)
        columns = self.numbers[self.columns[cells]].reshape(-1, self.sizes[number, 2])  # (T + 1, G)
        return Row(self.inputs[inputs], self.labels[labels], columns, self.groups[inputs])


def state_matrices(examples: Sequence[Example], tokenizer, folder: str | Path, policy: Policy = Policy(),
                   workers: int = 2, shard: int = SHARD) -> Matrices:
    """The state matrices of the examples, made in parallel where the folder does not hold them yet.

    They are kept under a fingerprint of the examples, the tokenizer and the policy: what was made from anything else
    is never taken for them.
    """
    home = Path(folder) / fingerprint(examples, tokenizer, policy, shard)
    home.mkdir(parents=True, exist_ok=True)
    parts = {home / f"{start:08d}": examples[start:start + shard] for start in range(0, len(examples), shard)}
    missing = {place: part for place, part in parts.items() if not place.exists()}
    with tqdm(total=len(examples), desc="state matrices", unit=" examples", disable=not missing) as bar:
        bar.update(len(examples) - sum(map(len, missing.values())))
        if min(workers, len(missing)) < 2:
            for place, part in missing.items():
                bar.update(_make(place, part, tokenizer, policy))
        else:
            with ProcessPoolExecutor(workers, get_context("spawn"), _start, (tokenizer, policy)) as pool:
                jobs = [pool.submit(_make_here, place, list(part)) for place, part in missing.items()]
                for job in as_completed(jobs):
                    bar.update(job.result())
    return Matrices(list(parts))


def fingerprint(examples: Sequence[Example], tokenizer, policy: Policy, shard: int = SHARD) -> str:
    """A name for what the matrices are made from, the same on every machine."""
    digest = hashlib.sha256(f"{FORMAT} {shard} {policy.words} {policy.separator} {sorted(policy.stop_words)}".encode())
    backend = getattr(tokenizer, "backend_tokenizer", None)
    digest.update((backend.to_str() if backend else repr(sorted(tokenizer.get_vocab().items()))).encode())
    for example in examples:
        digest.update(repr((example.source, str(example.rule), _forms(example), example.target)).encode())
    return digest.hexdigest()[:16]


def _forms(example: Example) -> list[tuple[str, ...]]:
    """What the input expression leaves out: the inflections that count as mentions."""
    return [getattr(literal, "forms", ()) for literal in example.rule.literals]


def _make(place: Path, examples: Sequence[Example], tokenizer, policy: Policy) -> int:
    """Write one folder aside, move it into place, and say how many examples it has."""
    table = FlagTable()
    with no_garbage_collection():
        rows = [number_row(e.rule, e.source, e.target, tokenizer, policy, table) for e in examples]
    sizes = [(len(row.input_ids), len(row.labels), row.columns.shape[1]) for row in rows]
    small = np.uint16 if len(table) <= np.iinfo(np.uint16).max else np.int32
    arrays = {"inputs": ([row.input_ids for row in rows], np.int32), "labels": ([row.labels for row in rows], np.int32),
              "columns": ([row.columns.ravel() for row in rows], small),
              "groups": ([row.groups for row in rows], np.uint16)}
    with folder_written_whole(place) as folder:
        np.save(folder / "sizes.npy", np.array(sizes, np.int64).reshape(-1, 3))
        for name, (parts, kind) in arrays.items():
            np.save(folder / f"{name}.npy", np.concatenate(parts).astype(kind))
        (folder / "flags.json").write_text(json.dumps(table.strings), encoding="utf-8")
    return len(examples)


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Trackers make many small objects and leave no cycles: looking for some takes as long as tracking itself."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


_shared: tuple = ()  # tokenizer and policy of a worker process


def _start(tokenizer, policy: Policy) -> None:
    global _shared
    _shared = tokenizer, policy


def _make_here(place: Path, examples: Sequence[Example]) -> int:
    return _make(place, examples, *_shared)
