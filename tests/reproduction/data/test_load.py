"""One way to load all tasks."""

import dataclasses
import json
import subprocess
import sys

import pytest

import reproduction.data
from reproduction.data import Provenance

DEFAULTS = {"rocstories": "insen", "commongen": "copy", "ted15": "translated"}


@pytest.mark.parametrize("task", reproduction.data.TASKS)
def test_built_in_is_the_default(task):
    examples = reproduction.data.load(task, "dev", size=20)
    assert examples.provenance.source == "builtin" and examples.provenance.rows == 20
    assert examples == reproduction.data.load(task, "dev", DEFAULTS[task], "builtin", seed=0, size=20)
    assert all(isinstance(example, reproduction.data.Example) for example in examples)
    assert len({example.id for example in examples}) == len(examples)


@pytest.mark.parametrize("task", reproduction.data.TASKS)
def test_a_folder_gives_the_same_examples_as_its_rows(task, tmp_path):
    rows = reproduction.data.rows(task, "dev", size=10)
    keys = {"rocstories": ("id", "sentences"), "commongen": ("id", "concepts", "references"), "ted15": ("id", "doc")}
    lines = [json.dumps(dict(zip(keys[task], row, strict=True))) for row in rows]
    (tmp_path / "dev.jsonl").write_text("\n".join(lines), encoding="utf-8")
    examples = reproduction.data.load(task, "dev", source=tmp_path)
    assert examples.provenance.source == "folder"
    if task != "ted15":  # real talks are cut into longer documents
        assert examples == reproduction.data.load(task, "dev", size=10)


def test_provenance_says_what_differs_from_the_paper_and_goes_into_json():
    found = reproduction.data.load("rocstories", "test", "zeroshot", size=40).provenance
    assert (found.rows, found.paper) == (40, 1_871) and found.examples + sum(found.left_out.values()) == 40
    assert "the paper has 1,871" in str(found)
    assert Provenance(**json.loads(json.dumps(dataclasses.asdict(found)))) == found
    assert "as in the paper" in str(dataclasses.replace(found, rows=1_871))
    assert "not reported" in str(reproduction.data.load("ted15", "train", size=2).provenance)


def test_unknown_names():
    for arguments, words in ((("roc", "train"), "unknown task 'roc': choose one of rocstories"),
                             (("ted15", "valid"), "unknown split 'valid': choose one of train")):
        with pytest.raises(ValueError, match=words):
            reproduction.data.load(*arguments)


def test_the_folder_of_a_result_is_not_told():
    assert "source=" in repr(Provenance("rocstories", "dev", "folder", 1, 1, 1))


@pytest.mark.slow
def test_corpora_hold_training_texts_only():
    stories = set(reproduction.data.corpus("rocstories"))
    assert len(stories) == 20_000
    held_out = {" ".join(story) for split in ("dev", "test")
                for _, story in reproduction.data.rows("rocstories", split)}
    assert not stories & held_out
    sentences = set(reproduction.data.corpus("commongen"))
    assert not sentences & {text.lower() for split in ("dev", "test")
                            for _, _, references in reproduction.data.rows("commongen", split) for text in references}
    assert any("nurse" in text for text in sentences)
    documents = reproduction.data.corpus("ted15")
    assert all(3 <= text.count("</s>") + 1 <= 12 for text in documents)


def test_loading_needs_neither_torch_nor_transformers():
    code = ("import sys, reproduction.data; reproduction.data.load('ted15', 'dev', size=1); "
            "print([name for name in ('torch', 'transformers', 'datasets') if name in sys.modules])")
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_zero_shot_sentences_are_kept_from_training_and_from_dev():
    train, dev = reproduction.data.train_and_dev("rocstories", "zeroshot", train_size=60, dev_size=10)
    test = reproduction.data.load("rocstories", "test", "zeroshot", size=40)
    sentences = [{literal.k for example in part for literal in example.rule.literals} for part in (train, dev, test)]
    assert sentences == [{3, 4, 5}, {3, 4, 5}, {1, 2}]
    assert len(dev) == 10 and not {e.id for e in train} & {e.id for e in dev}
    assert (train.provenance.split, dev.provenance.split, dev.provenance.examples) == ("train", "dev", 10)


def test_other_rules_have_the_dev_set_of_the_data():
    train, dev = reproduction.data.train_and_dev("rocstories", "r1", train_size=20, dev_size=10)
    assert train == reproduction.data.load("rocstories", "train", "r1", size=20)
    assert dev == reproduction.data.load("rocstories", "dev", "r1", size=10)
