"""The model's benchmark, at a size that shows that it runs and that memory behaves."""

import pytest

from reproduction.bench.model import Bench, document, measure, story


@pytest.fixture(scope="module")
def bench():
    return Bench.build(small=True, rounds=1)


def test_texts_are_made_to_measure(bench):
    for make, length in ((story, 64), (document, 256), (document, 512)):
        row = make(bench.tok, length, length)
        assert len(bench.tok(row["source"] + row["rule"])["input_ids"]) == length
        assert len(bench.tok(row["target"])["input_ids"]) == length
        assert bench.tok.unk_token_id not in bench.tok(row["source"] + row["rule"])["input_ids"]


def test_the_two_models_share_their_weights(bench):
    ours = {p.data_ptr() for p in bench.ours.parameters()}
    assert {p.data_ptr() for p in bench.plain.parameters()} <= ours


@pytest.mark.slow
def test_the_table(bench):
    rows = list(measure(bench, batch=1, length=64, long=256, tokens=6))
    assert [target for _, target, *_ in rows] == [1.10, 1.10, 1.15, 1.15, 1.15]
    memory = rows[1]
    assert float(memory[3]) <= 1.10 and float(memory[3]) <= float(memory[4].removeprefix("literal "))
