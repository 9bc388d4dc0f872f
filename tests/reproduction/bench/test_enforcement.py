"""The enforcer's benchmark, at a size that shows that it runs."""

import kinds
import pytest

from reproduction.bench.enforcement import LENGTHS, beside, growth, t5


@pytest.mark.slow
def test_steps_with_and_without_enforcement():
    rows = t5(small=True, tokens=32, rounds=1)
    assert [row["target"] for row in rows] == ["≤ 1.30"] * 2
    assert all(row["step"].endswith("ms") and row["enforced"].endswith("ms") for row in rows)


def test_masks_and_how_they_grow():
    tok = kinds.tokenizer("byte-bpe")
    rows = beside(tok)
    assert [row["rule"] for row in rows if row["library"] == "NRETM"] == ["exactly nine words", "contains both words"]
    assert [row["tokens"] for row in growth(tok)] == list(LENGTHS)
