"""State matrices on disk."""

import os
import shutil

import numpy as np
import pytest

import nretm
import reproduction.data
from reproduction.data import matrices
from reproduction.data.matrices import fingerprint, state_matrices

TOKENIZER = reproduction.data.builtin_tokenizer()
EXAMPLES = reproduction.data.load("rocstories", "dev", "r3", size=60)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("matrices")
    return folder, state_matrices(EXAMPLES, TOKENIZER, folder, workers=2, shard=16)


def strings(table, columns):
    return np.array(table.strings, dtype=object)[columns]


@pytest.mark.slow
def test_each_is_the_state_matrix_of_its_example(made):
    _, found = made
    assert len(found) == len(EXAMPLES)
    for example, prepared in zip(EXAMPLES, found, strict=True):
        matrix = nretm.state_matrix(example.rule, example.target, TOKENIZER, source=example.source, gold=True)
        assert (prepared.groups == matrix.groups).all()
        assert prepared.columns.shape == (len(prepared.labels) + 1, matrix.columns.shape[1])
        assert (strings(found.table, prepared.columns) == strings(matrix.table, matrix.columns)).all()
        assert prepared.input_ids.tolist() == TOKENIZER(str(example.rule))["input_ids"]
        assert prepared.labels.tolist() == TOKENIZER(example.target)["input_ids"]


def test_indexes(made):
    _, found = made
    assert (found[-1].labels == found[len(found) - 1].labels).all()
    for wrong in (len(found), -len(found) - 1):
        with pytest.raises(IndexError):
            found[wrong]


def test_arrays_are_mapped_not_read(made):
    assert isinstance(made[1]._shards[0].columns, np.memmap)


def test_nothing_is_made_twice(made, monkeypatch):
    monkeypatch.setattr(matrices, "_make", None)
    assert len(state_matrices(EXAMPLES, TOKENIZER, made[0], shard=16)) == len(EXAMPLES)


def test_interrupted_run_goes_on(made, tmp_path):
    folder, found = made
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    home = next(tmp_path.iterdir())
    shutil.move(home / "00000016", home / "00000016.123.part")  # killed while it wrote
    (home / "00000016.123.part" / "columns.npy").unlink()
    again = state_matrices(EXAMPLES, TOKENIZER, tmp_path, workers=1, shard=16)
    for row, other in zip(found, again, strict=True):
        assert (strings(found.table, row.columns) == strings(again.table, other.columns)).all()


def test_a_failed_write_leaves_nothing_that_looks_finished(tmp_path, monkeypatch):
    def full(*_):
        raise OSError("No space left on device")

    monkeypatch.setattr(np, "save", full)
    with pytest.raises(OSError, match="No space left"):
        state_matrices(EXAMPLES, TOKENIZER, tmp_path, workers=1)
    assert not [path for path in next(tmp_path.iterdir()).iterdir() if path.suffix != ".part"]


def test_made_by_another_run_meanwhile(made, tmp_path, monkeypatch):
    replace = os.replace

    def late(aside, place):
        shutil.copytree(aside, place)
        replace(aside, place)

    monkeypatch.setattr(os, "replace", late)
    assert len(state_matrices(EXAMPLES, TOKENIZER, tmp_path, workers=1)) == len(EXAMPLES)


def test_fingerprint_tells_rules_forms_tokenizers_and_policies_apart():
    strict, loose = (reproduction.data.load("commongen", "dev", rule, size=5) for rule in ("copy", "inflected"))
    policy, other = nretm.Policy(), nretm.Policy(words="no-punctuation")
    names = {fingerprint(strict, TOKENIZER, policy), fingerprint(loose, TOKENIZER, policy),
             fingerprint(strict, TOKENIZER, other), fingerprint(strict[:4], TOKENIZER, policy),
             fingerprint(strict, reproduction.data.builtin_document_tokenizer(), policy)}
    assert len(names) == 5
    assert fingerprint(strict, TOKENIZER, policy) in names


def test_documents(tmp_path):
    examples = reproduction.data.load("ted15", "dev", size=2)
    tokenizer, policy = reproduction.data.builtin_document_tokenizer(), reproduction.data.policy("ted15")
    found = state_matrices(examples, tokenizer, tmp_path, policy, workers=1)
    for example, prepared in zip(examples, found, strict=True):
        assert prepared.columns.shape[1] == example.source.count("</s>") + 1
        assert set(strings(found.table, prepared.columns[-1])) <= {"2", "N"}
