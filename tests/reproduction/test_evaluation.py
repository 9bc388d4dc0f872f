"""`python -m reproduction evaluate`: anybody's outputs, with the figures that the field publishes."""

import gzip
import os
import sys
from pathlib import Path

import pytest

import reproduction.data
from reproduction import evaluation


def evaluate(monkeypatch, capsys, *words) -> dict[str, float]:
    """The figures that the command prints, by name."""
    monkeypatch.setattr(sys, "argv", ["evaluate", *map(str, words)])
    evaluation.main()
    lines = capsys.readouterr().out.splitlines()[1:]
    return {line[:16].strip(): float(line[16:].split()[0]) for line in lines if line[16:].split()[0] != "-"}


def test_anybodys_outputs_can_be_scored(tmp_path, monkeypatch, capsys):
    outputs = tmp_path / "outputs.txt"
    command = ("rocstories", "insen", outputs)
    with pytest.raises(SystemExit, match="evaluate: there is no file .*outputs.txt: name a text file"):
        evaluate(monkeypatch, capsys, *command)
    outputs.write_text("One line.\n", encoding="utf-8")
    with pytest.raises(SystemExit, match="evaluate: There are 1 outputs for"):
        evaluate(monkeypatch, capsys, *command)
    golds = [example.target for example in reproduction.data.load("rocstories", "test", "insen")]
    outputs.write_text("\n".join(golds) + "\n", encoding="utf-8")
    assert evaluate(monkeypatch, capsys, *command)["CSR"] == 100


def test_an_output_per_reference_counts_once(tmp_path, monkeypatch, capsys):
    examples = reproduction.data.load("commongen", "test", "copy")
    once, each = tmp_path / "once.txt", tmp_path / "each.txt"
    once.write_text("".join(f"{e.target}\n" for e in examples), encoding="utf-8")
    each.write_text("".join(f"{e.target}\n" * len(e.references) for e in examples), encoding="utf-8")
    assert evaluate(monkeypatch, capsys, "commongen", "copy", once) == evaluate(
        monkeypatch, capsys, "commongen", "copy", each)


@pytest.mark.slow
@pytest.mark.skipif("NRETM_DATA" not in os.environ, reason="NRETM_DATA names no folder with real data")
def test_leventrans_gets_its_published_figures(tmp_path, monkeypatch, capsys):
    folder, outputs = Path(os.environ["NRETM_DATA"]), tmp_path / "outputs.txt"
    outputs.write_bytes(gzip.decompress((folder / "oracles/commongen/LevenTrans.test.txt.gz").read_bytes()))
    found = evaluate(monkeypatch, capsys, "commongen", "copy", outputs, "--data", folder)
    assert f"{found['CIDEr']:.1f}" == "75.4"
    assert (f"{found['BLEU-3']:.1f}", f"{found['BLEU-4']:.1f}") == ("19.7", "11.6")
