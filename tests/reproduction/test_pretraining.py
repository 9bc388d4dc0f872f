"""Pretraining: the same command makes the same base, and the shipped bases were made by it."""

import dataclasses
import json
import random

import pytest
import torch
from safetensors.torch import load_file

import reproduction.data
from reproduction import pretraining
from reproduction.data.learned_tokens import learned_tokenizer
from reproduction.files import BASES_FOLDER


@pytest.mark.slow
@pytest.mark.parametrize("name", pretraining.MODELS)
def test_the_command_makes_a_base_and_the_same_again(name, tmp_path, monkeypatch):
    corpus = {task: [text for row in reproduction.data.rows(task, "dev", size=20) for text in texts_of(row)]
              for task in reproduction.data.TASKS}
    monkeypatch.setattr(reproduction.data, "corpus", lambda task, source: corpus[task])
    monkeypatch.setattr(pretraining, "MADE_BASES_FOLDER", tmp_path)
    made, data = [], str(tmp_path) if pretraining.MODELS[name].pieces else "builtin"
    for folder in (tmp_path / "a", tmp_path / "b"):
        pretraining.pretrain(name, folder, seed=3, steps=2, data=data)
        made.append({key: tensor for file in sorted(folder.glob("*.safetensors"))
                     for key, tensor in load_file(file).items()})
        assert all(file.stat().st_size < 2_000_000 for file in folder.iterdir())
    assert same(*made) and all(tensor.dtype == torch.float16 for tensor in made[0].values())


@pytest.mark.slow
def test_a_base_of_real_text_resumes_where_it_stopped(tmp_path, monkeypatch):
    """Stopped after step 2 of 4, it ends with the weights of a training that was never stopped."""
    stories = [" ".join(sentences) for _, sentences in reproduction.data.rows("rocstories", "dev", size=40)]
    monkeypatch.setattr(reproduction.data, "corpus", lambda task, source: stories)
    monkeypatch.setattr(pretraining, "SAVE_STEPS", 2)
    monkeypatch.setattr(pretraining, "MADE_BASES_FOLDER", tmp_path / "whole")
    whole = pretraining.pretrain("mini-t5", tmp_path / "a", steps=4, data="somewhere")
    monkeypatch.setattr(pretraining, "MADE_BASES_FOLDER", tmp_path / "parts")
    step, seen = pretraining.Seq2SeqTrainer.training_step, []

    def stopping(*arguments):
        seen.append(None)
        if len(seen) == 4:
            raise KeyboardInterrupt
        return step(*arguments)

    monkeypatch.setattr(pretraining.Seq2SeqTrainer, "training_step", stopping)
    with pytest.raises(KeyboardInterrupt):
        pretraining.pretrain("mini-t5", tmp_path / "b", steps=4, data="somewhere")
    parts = pretraining.pretrain("mini-t5", tmp_path / "b", steps=4, data="somewhere")
    assert len(seen) == 4 + 2
    assert same(*({key: tensor for file in sorted(folder.glob("*.safetensors")) for key, tensor in
                   load_file(file).items()} for folder in (whole, parts)))
    assert not list((tmp_path / "parts").iterdir()), "no checkpoint is left"


@pytest.mark.slow
def test_texts_of_one_batch_are_about_equally_long():
    tokenizer = reproduction.data.builtin_tokenizer()
    texts = reproduction.data.corpus("rocstories")[:1000] + reproduction.data.corpus("commongen")[:1000]
    corpora = {"rocstories": pretraining.corpus(texts[:1000], "t5", tokenizer),
               "commongen": pretraining.corpus(texts[1000:], "t5", tokenizer)}
    items = pretraining.Denoising(corpora, {"rocstories": 0.5, "commongen": 0.5}, tokenizer, 640, seed=0, alike=32)
    for at in range(0, 640, 32):
        lengths = [len(items[i]["labels"]) for i in range(at, at + 32)]
        assert max(lengths) <= 1.25 * min(lengths), lengths


SHIPPED = [name for name, base in pretraining.MODELS.items() if not base.pieces]


@pytest.mark.slow
@pytest.mark.parametrize("name", SHIPPED)
def test_the_shipped_base_was_made_by_the_command(name):
    record = json.loads((BASES_FOLDER / name / "base.json").read_text(encoding="utf-8"))
    base = pretraining.MODELS[name]
    assert record["command"] == f"python -m reproduction pretrain {name} --seed 0 --steps {base.steps}"
    assert pretraining.Base(**record["base"]) == base
    texts = {task: reproduction.data.corpus(task) for task in base.tasks}
    assert record["corpus"] == pretraining.digest(texts), "the built-in texts have changed: make the base again"
    assert 0.9e6 < record["parameters"] < 3.5e6


def test_numbered_sentences_tell_where_they_belong():
    sentences, masks = [[10, 11, 5], [12, 13, 14, 5], [15, 16, 5]], [0, 1, 2, 3]
    for seed in range(50):
        rng = random.Random(seed)
        found = pretraining.numbered(sentences, masks, rng.random(), rng)
        part = []
        for token in found:
            if token in masks:
                assert set(part) <= set(sentences[masks.index(token) - 1])
                part = []
            else:
                part.append(token)
        assert found[-1] in masks
    whole = pretraining.numbered(sentences, masks, 0.0, random.Random(0))
    assert sorted(whole) == sorted(sum(sentences, []) + masks[1:])


def test_names_have_their_pieces_in_lower_case():
    tokenizer = learned_tokenizer(["Rick got a trick. Rick got it.", "a pick and a kick, ick"] * 5, 120)
    lower = pretraining.lower_case(tokenizer)
    rick, got, mask = (tokenizer.convert_tokens_to_ids(piece) for piece in ("▁Rick", "▁got", "<extra_id_1>"))
    assert "▁Rick" in tokenizer.get_vocab() and "▁rick" not in tokenizer.get_vocab()
    assert len(lower[rick]) > 1 and tokenizer.decode(lower[rick]) == "rick"
    assert lower[got] == [got] and lower[mask] == [mask]


@pytest.mark.slow
def test_a_text_is_harder_to_restore_the_later_it_comes():
    tokenizer = reproduction.data.builtin_tokenizer()
    corpora = {"rocstories": pretraining.corpus(reproduction.data.corpus("rocstories")[:500], "t5", tokenizer)}
    items = pretraining.Denoising(corpora, {"rocstories": 1.0}, tokenizer, 400, seed=0)
    def shown(among):
        return sum(len(items[i]["input_ids"]) for i in among) / sum(len(items[i]["labels"]) for i in among)
    assert shown(range(100)) > 1.2 * shown(range(300, 400))
    first, last = (sum(len(items[i]["labels"]) for i in among) for among in (range(50), range(350, 400)))
    assert first < last and items[7] == items[7]


def texts_of(row):
    """The texts of a row of any task."""
    _, *parts = row
    return [text for part in parts for entry in part for text in ([entry] if isinstance(entry, str) else entry)]


def same(a, b):
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def test_a_base_is_made_again_only_from_other_texts_or_settings(tmp_path, monkeypatch):
    texts, base, calls = ["A dog ran."], pretraining.MODELS["mini-t5"], []
    monkeypatch.setattr(reproduction.data, "corpus", lambda task, source: texts)
    monkeypatch.setattr(pretraining, "MADE_BASES_FOLDER", tmp_path)

    def pretrain(name, seed, data):
        calls.append(seed)
        record = {"base": dataclasses.asdict(base), "seed": seed, "steps": base.steps,
                  "corpus": pretraining.digest({task: texts for task in base.tasks})}
        (tmp_path / name).mkdir(exist_ok=True)
        (tmp_path / name / "base.json").write_text(json.dumps(record))
        return tmp_path / name

    monkeypatch.setattr(pretraining, "pretrain", pretrain)
    assert pretraining.made("mini-t5", "folder") == pretraining.made("mini-t5", "folder") == tmp_path / "mini-t5"
    assert calls == [0]
    pretraining.made("mini-t5", "folder", seed=1)
    texts.append("A cat slept.")
    pretraining.made("mini-t5", "folder", seed=1)
    assert calls == [0, 1, 1]
