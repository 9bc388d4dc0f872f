"""Training: killed and gone on with, the same again, cheap enough, and clear about what it cannot do."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import load_file
from torch.utils.flop_counter import FlopCounterMode
from transformers import T5Config, T5ForConditionalGeneration

import nretm
import reproduction.data
from reproduction import evaluation, pretraining, training
from reproduction.data.matrices import state_matrices
from reproduction.experiments import experiment
from reproduction.report import run_files
from reproduction.settings import BASES_FOLDER, settings

SMALL = {"train_size": 24, "dev_size": 2, "test_size": 3, "steps": 8, "evaluate_every": 2, "max_new_tokens": 12}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """A T5 that is small enough to be trained in a second; with dropout, so that random numbers matter."""
    folder, tokenizer = tmp_path_factory.mktemp("tiny"), reproduction.data.builtin_tokenizer()
    torch.manual_seed(0)
    config = T5Config(vocab_size=len(tokenizer), d_model=16, d_kv=4, d_ff=16, num_layers=1, num_heads=4,
                      dropout_rate=0.1, pad_token_id=0, eos_token_id=1, decoder_start_token_id=0)
    T5ForConditionalGeneration(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="module")
def undisturbed(tiny, tmp_path_factory):
    root = tmp_path_factory.mktemp("undisturbed")
    training.run("r1-nretm", "smoke", root, model=tiny, **SMALL)
    return root


def work(root, name="r1-nretm"):
    return training.work_folder(root, "smoke") / training.run_name(name, 0)


def weights(root):
    return load_file(work(root) / "model" / "model.safetensors")


def same(a, b):
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def start(root, tiny):
    options = [part for name, value in SMALL.items() for part in (f"--{name.replace('_', '-')}", str(value))]
    command = [sys.executable, "-m", "reproduction", "train", "r1-nretm", "--profile", "smoke", "--root", str(root)]
    return subprocess.Popen([*command, "--model", tiny, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def wait_for(path, process, seconds=120):
    began = time.monotonic()
    while not path.exists():
        assert process.poll() is None, "it ended before it could be killed"
        assert time.monotonic() - began < seconds
        time.sleep(0.0005)


@pytest.mark.parametrize("moment", ["checkpoint-4", "checkpoint-4/trainer_state.json"])
def test_killed_it_goes_on_and_ends_with_the_same_weights(moment, undisturbed, tiny, tmp_path):
    """The first moment is in the middle of writing a checkpoint, the second in the middle of the next step."""
    process = start(tmp_path, tiny)
    wait_for(work(tmp_path) / moment, process)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert not (tmp_path / "results").exists(), "an interrupted run leaves nothing that looks finished"
    path = training.run("r1-nretm", "smoke", tmp_path, model=tiny, **SMALL)
    run = run_files.read_run(path)
    assert run["resumed_from"] >= 2
    assert same(weights(tmp_path), weights(undisturbed))
    again, first = (run_files.read_run(run_files.run_path(root / "results/smoke", "r1-nretm", 0))
                    for root in (tmp_path, undisturbed))
    assert again["metrics"] == first["metrics"] and again["log"] == first["log"]


def test_half_a_checkpoint_is_not_taken_for_one(undisturbed, tmp_path):
    whole = work(undisturbed) / "checkpoint-8"
    for lacking in ("optimizer.pt", "trainer_state.json"):
        half = tmp_path / "checkpoint-9"
        shutil.copytree(whole, half)
        (half / lacking).unlink()
        assert training.last_checkpoint(tmp_path) is None
        shutil.rmtree(half)
    shutil.copytree(whole, tmp_path / "checkpoint-8")
    shutil.copytree(whole, tmp_path / "checkpoint-10")
    state = tmp_path / "checkpoint-10" / "trainer_state.json"
    state.write_text(state.read_text()[:-20])
    assert training.last_checkpoint(tmp_path).name == "checkpoint-8"


def test_other_settings_begin_anew(undisturbed, tiny, tmp_path):
    shutil.copytree(undisturbed, tmp_path, dirs_exist_ok=True)
    path = training.run("r1-nretm", "smoke", tmp_path, model=tiny, **SMALL | {"learning_rate": 5e-4})
    assert run_files.read_run(path)["resumed_from"] is None
    assert not same(weights(tmp_path), weights(undisturbed))


def test_a_run_file_tells_how_it_was_made(undisturbed):
    run = run_files.read_run(run_files.run_path(undisturbed / "results/smoke", "r1-nretm", 0))
    assert run["command"].startswith("python -m reproduction train r1-nretm --profile smoke --seed 0 --model ")
    assert run["data"]["test"]["examples"] == 3 and run["data"]["test"]["source"] == "builtin"
    assert run["parameters"]["added"] > 0 and run["best_step"] in (2, 4, 6, 8)
    assert {"CSR", "CSR ±1", "CSR ±2", "ROUGE-L", "InSen_i", "InSen_j", "Len_i", "Len_j"} <= set(run["metrics"])
    assert any("dev CSR" in row for row in run["log"]) and any("loss" in row for row in run["log"])
    assert str(undisturbed) not in run_files.run_path(undisturbed / "results/smoke", "r1-nretm", 0).read_text()
    assert len(run_files.generations(run_files.run_path(undisturbed / "results/smoke", "r1-nretm", 0))) == 3


def test_baseline_differs_in_the_tracker_alone(tiny):
    plain, tracked = (training.build(experiment(name), settings("smoke", experiment(name), model=tiny))[0]
                      for name in ("r1-t5", "r1-nretm"))
    ours = {name for name in tracked.state_dict() if name.startswith("nretm.")}
    assert ours and set(tracked.state_dict()) - ours == set(plain.state_dict())
    assert all(torch.equal(plain.state_dict()[name], tracked.state_dict()[name]) for name in plain.state_dict())


def test_the_trained_model_can_be_loaded(undisturbed, tiny):
    model, tokenizer = training.load_trained("r1-nretm", "smoke", undisturbed, model=tiny)
    assert same({name: model.state_dict()[name] for name in weights(undisturbed)}, weights(undisturbed))
    with pytest.raises(training.Stopped, match="order-t5 has not been trained with seed 0"):
        training.load_trained("order-t5", "smoke", undisturbed, model=tiny)


def test_zero_shot_sentences_are_kept_from_training_and_from_dev():
    one = experiment("zeroshot-t5")
    chosen = settings("smoke", one)
    asked = {split: {literal.k for e in training._examples(one, split, chosen) for literal in e.rule.literals}
             for split in ("train", "dev", "test")}
    assert asked["train"] <= {3, 4, 5} and asked["dev"] <= {3, 4, 5} and asked["test"] <= {1, 2}
    ids = {split: {e.id for e in training._examples(one, split, chosen)} for split in ("train", "dev")}
    assert not ids["train"] & ids["dev"] and ids["dev"]


def test_what_a_user_can_do_something_about_is_one_sentence(undisturbed, tiny, tmp_path, monkeypatch):
    chosen = settings("smoke", experiment("r1-t5"))
    for error, said in ((OSError(28, "No space left on device"), "is full .checkpoint-8 is whole.: make room"),
                        (RuntimeError("Error while serializing: IoError(Os { code: 28 })"), "is full"),
                        (torch.OutOfMemoryError("CUDA out of memory"), "give --batch 2 --accumulation 2"),
                        (RuntimeError("DefaultCPUAllocator: can't allocate memory"), "Out of memory with batches")):
        with pytest.raises(training.Stopped, match=said), training._explained(work(undisturbed), chosen):
            raise error
    with monkeypatch.context() as patch:  # torch's own words say nothing of a disk
        patch.setattr(training.shutil, "disk_usage", lambda folder: SimpleNamespace(free=0))
        with pytest.raises(training.Stopped, match="is full"), training._explained(work(undisturbed), chosen):
            raise RuntimeError("unexpected pos 5346560 vs 5346452")
    with pytest.raises(KeyError), training._explained(tmp_path, chosen):
        raise KeyError("a mistake of ours is not dressed up")
    with pytest.raises(training.Stopped, match="The model 'no/such' could not be loaded: give --model a folder"):
        training.run("r1-t5", "smoke", tmp_path, model="no/such", **SMALL)


@pytest.mark.parametrize("file", ["tokenizer.json", "config.json", "model.safetensors"])
def test_a_damaged_model_is_one_sentence(tiny, tmp_path, file):
    damaged = shutil.copytree(tiny, tmp_path / "model")
    (damaged / file).write_bytes((damaged / file).read_bytes()[:20])
    with pytest.raises(training.Stopped, match="could not be loaded: give --model a folder that has it whole"):
        training.run("r1-t5", "smoke", tmp_path, model=str(damaged), **SMALL)


def test_concepts_without_references_are_covered_or_not_but_have_no_quality():
    examples = reproduction.data.concepts.prepare([("t", ("dog", "run"), ())], "inflected", "test")[0]
    found = evaluation.score("commongen", "inflected", examples, ["A dog runs."])
    assert [found[name].reason.split()[2:5] for name in ("CIDEr", "BLEU-3", "BLEU-4", "SPICE")] == [
        ["sets", "without", "references"]] * 4
    assert found["CSR"].value == 100


def test_documents_keep_their_separators():
    tokenizer = reproduction.data.builtin_document_tokenizer()
    target = reproduction.data.load("ted15", "test", size=1)[0].target
    ids = tokenizer(text_target=target).input_ids
    assert evaluation.texts([ids], tokenizer, "</s>") == [target]


@pytest.mark.parametrize("name", ["r1-t5", "r1-nretm"])
def test_accumulated_batches_make_the_same_steps(name, tiny, tmp_path):
    losses = []
    for batch, accumulation in ((4, 1), (2, 2)):
        root = tmp_path / str(batch)
        path = training.run(name, "smoke", root, model=tiny, **SMALL | {"steps": 2, "batch": batch,
                                                                     "accumulation": accumulation})
        losses.append([entry["loss"] for entry in run_files.read_run(path)["log"] if "loss" in entry][0])
    assert losses[0] == pytest.approx(losses[1], rel=0.1)


def test_a_document_does_not_end_with_its_first_sentence_while_training(tmp_path):
    one = experiment("ted15-mbart")
    chosen = settings("smoke", one, **SMALL | {"steps": 2})
    (model, tokenizer), _ = training._train(one, chosen, tmp_path / "work")
    assert model.generation_config.eos_token_id == tokenizer.convert_tokens_to_ids("en_XX")


@pytest.mark.parametrize("rule", ["r1", "r3"])
def test_a_step_of_the_demo_computes_little_more_with_the_tracker(rule, tmp_path, monkeypatch):
    """At most 1.2 times the baseline's operations, and nothing is tracked once the matrices are prepared."""
    operations = []
    for name in (f"{rule}-t5", f"{rule}-nretm"):
        one = experiment(name)
        chosen = settings("demo", one, train_size=300)
        examples, (model, tokenizer) = training._examples(one, "train", chosen), training.build(one, chosen)
        rows = state_matrices(examples, tokenizer, tmp_path, workers=1) if one.tracked else examples
        collate = nretm.Collator(model, tokenizer, rows.table if one.tracked else None)
        with monkeypatch.context() as patched, FlopCounterMode(display=False) as counter:
            patched.setattr(nretm.Tracker, "step", None)
            model(**collate([rows[i] for i in range(chosen.batch)])).loss.backward()
        operations.append(counter.get_total_flops())
    assert 1 < operations[1] / operations[0] <= 1.2


def test_word_boundaries():
    tokenizer = reproduction.data.builtin_tokenizer()
    mask = evaluation.word_boundaries(tokenizer, len(tokenizer))
    ids = tokenizer.convert_tokens_to_ids
    assert mask[ids("▁then")] and mask[ids(".")] and mask[ids("</s>")] and not mask[ids("s")]


def test_anybodys_outputs_can_be_scored(tmp_path, monkeypatch, capsys):
    outputs = tmp_path / "outputs.txt"
    monkeypatch.setattr(sys, "argv", ["evaluate", "rocstories", "insen", str(outputs)])
    with pytest.raises(SystemExit, match="evaluate: .*No such file"):
        evaluation.main()
    outputs.write_text("One line.\n", encoding="utf-8")
    with pytest.raises(SystemExit, match="evaluate: There are 1 outputs for"):
        evaluation.main()
    golds = [example.target for example in reproduction.data.load("rocstories", "test", "insen")]
    outputs.write_text("\n".join(golds) + "\n", encoding="utf-8")
    evaluation.main()
    assert "CSR              100.00" in capsys.readouterr().out


@pytest.mark.parametrize("name", pretraining.MODELS)
def test_the_command_makes_a_base_and_the_same_again(name, tmp_path, monkeypatch):
    corpus = {task: [text for row in reproduction.data.rows(task, "dev", size=20) for text in told(row)]
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


def test_a_base_of_real_text_goes_on_where_it_stopped(tmp_path, monkeypatch):
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


def test_a_text_is_harder_to_restore_the_later_it_comes():
    tokenizer = reproduction.data.builtin_tokenizer()
    corpora = {"rocstories": pretraining.corpus(reproduction.data.corpus("rocstories")[:500], "t5", tokenizer)}
    items = pretraining.Denoising(corpora, {"rocstories": 1.0}, tokenizer, 400, seed=0)
    def shown(among):
        return sum(len(items[i]["input_ids"]) for i in among) / sum(len(items[i]["labels"]) for i in among)
    assert shown(range(100)) > 1.2 * shown(range(300, 400))
    first, last = (sum(len(items[i]["labels"]) for i in among) for among in (range(50), range(350, 400)))
    assert first < last and items[7] == items[7]


def told(row):
    """The texts of a row of any task."""
    _, *parts = row
    return [text for part in parts for one in part for text in ([one] if isinstance(one, str) else one)]


def test_no_pickle_of_our_own():
    folder = os.path.dirname(training.__file__)
    for name in ("training.py", "pretraining.py", "evaluation.py", "settings.py", "grid_beam_search.py", "metrics.py"):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            text = file.read()
        assert "torch.load" not in text and "import pickle" not in text
