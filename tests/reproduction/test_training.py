"""Training: killed and resumed, the same again, cheap enough, and clear about what it cannot do."""

import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest
import tiny as families
import torch
from safetensors.torch import load_file, save_file
from torch.utils.flop_counter import FlopCounterMode
from transformers import T5Config, T5ForConditionalGeneration

import nretm
import reproduction.data
from reproduction import training
from reproduction.checkpoints import MODEL
from reproduction.data.matrices import state_matrices
from reproduction.experiments import experiment_named
from reproduction.report import run_files
from reproduction.settings import settings_for
from reproduction.tasks import TASKS

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
    return load_file(work(root) / MODEL)


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


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["checkpoint-4", "checkpoint-4/trainer_state.json"])
def test_killed_it_resumes_and_ends_with_the_same_weights(moment, undisturbed, tiny, tmp_path):
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


@pytest.mark.slow
def test_rates_of_their_own(tiny):
    """What NRETM adds and T5's queries learn at their own rates, everything that is trained at one."""
    experiment = experiment_named("r1-nretm")
    settings = settings_for("smoke", experiment, model=tiny, learning_rate=1e-3, state_rate=3, query_rate=0.125)
    model, _ = training.build(experiment, settings)
    names = {id(parameter): name for name, parameter in model.named_parameters() if parameter.requires_grad}
    rates = {names[id(parameter)]: group["lr"] for group in training._optimizer(model, settings).param_groups
             for parameter in group["params"]}
    assert rates.keys() == set(names.values())
    for name, rate in rates.items():
        factor = 3 if name.startswith("nretm.") else 0.125 if name.endswith(".q.weight") else 1
        assert rate == pytest.approx(1e-3 * factor), name
    assert training._optimizer(model, settings_for("smoke", experiment, model=tiny)) is None


def test_other_settings_start_over(undisturbed, tiny, tmp_path):
    shutil.copytree(undisturbed, tmp_path, dirs_exist_ok=True)
    path = training.run("r1-nretm", "smoke", tmp_path, model=tiny, **SMALL | {"learning_rate": 5e-4})
    assert run_files.read_run(path)["resumed_from"] is None
    assert not same(weights(tmp_path), weights(undisturbed))


def test_a_run_file_says_how_it_was_made(undisturbed):
    run = run_files.read_run(run_files.run_path(undisturbed / "results/smoke", "r1-nretm", 0))
    assert run["command"].startswith("python -m reproduction train r1-nretm --profile smoke --seed 0 --model ")
    assert run["data"]["test"]["examples"] == 3 and run["data"]["test"]["source"] == "builtin"
    assert run["parameters"]["added"] > 0 and run["best_step"] in (2, 4, 6, 8)
    assert {"CSR", "CSR ±1", "CSR ±2", "ROUGE-L", "InSen_i", "InSen_j", "Len_i", "Len_j"} <= set(run["metrics"])
    assert any("dev CSR" in row for row in run["log"]) and any("loss" in row for row in run["log"])
    assert str(undisturbed) not in run_files.run_path(undisturbed / "results/smoke", "r1-nretm", 0).read_text()
    assert len(run_files.generations(run_files.run_path(undisturbed / "results/smoke", "r1-nretm", 0))) == 3


def test_the_command_of_a_run_file_is_one_that_works(monkeypatch):
    """Parsed again it sets what had been set, whatever a value looks like."""
    given = {"seed": 3, "freeze": False, "model": "a folder/with spaces", "steps": None, "learning_rate": 1e-4}
    settings = settings_for("smoke", experiment_named("r1-t5"), **given)
    words = shlex.split(training.command("r1-t5", "smoke", settings, given))
    assert words[:4] == ["python", "-m", "reproduction", "train"]
    monkeypatch.setattr(sys, "argv", ["train", *words[4:]])
    seen = []
    monkeypatch.setattr(training, "run", lambda *what, **options: seen.append((what, options)) or sys.exit())
    with pytest.raises(SystemExit):
        training.main()
    (name, profile, _), options = seen[0]
    assert settings_for(profile, experiment_named(name), **options) == settings


def test_baseline_differs_in_the_tracker_alone(tiny):
    plain, tracked = (training.build(experiment, settings_for("smoke", experiment, model=tiny))[0]
                      for experiment in map(experiment_named, ("r1-t5", "r1-nretm")))
    ours = {name for name in tracked.state_dict() if name.startswith("nretm.")}
    assert ours and set(tracked.state_dict()) - ours == set(plain.state_dict())
    assert all(torch.equal(plain.state_dict()[name], tracked.state_dict()[name]) for name in plain.state_dict())


def test_embeddings_and_head_can_be_left_as_they_are(tiny):
    experiment = experiment_named("r1-nretm")
    model, _ = training.build(experiment, settings_for("smoke", experiment, model=tiny, freeze=False, embeddings=False))
    still = {name for name, parameter in model.named_parameters() if not parameter.requires_grad}
    assert still and still <= {"shared.weight", "lm_head.weight"}


def test_the_trained_model_can_be_loaded(undisturbed, tiny):
    model, tokenizer = training.load_trained("r1-nretm", "smoke", undisturbed, model=tiny)
    assert same({name: model.state_dict()[name] for name in weights(undisturbed)}, weights(undisturbed))
    with pytest.raises(training.Stopped, match="order-t5 has not been trained with seed 0"):
        training.load_trained("order-t5", "smoke", undisturbed, model=tiny)


def test_a_trained_marian_has_no_positions_in_its_file_and_is_read_all_the_same(tmp_path, monkeypatch):
    trained, path = families.plain("Marian", seed=1), work(tmp_path, "ted15-mbart") / MODEL
    trained.save_pretrained(path.parent)
    monkeypatch.setattr(training, "build", lambda *_: (families.plain("Marian"), None))
    read, _ = training.load_trained("ted15-mbart", "smoke", tmp_path)
    assert same(read.state_dict(), trained.state_dict()) and len(load_file(path)) < len(read.state_dict())
    save_file({name: tensor for name, tensor in load_file(path).items() if "fc1" not in name}, path)
    with pytest.raises(training.Stopped, match="is not of this model .*fc1"):
        training.load_trained("ted15-mbart", "smoke", tmp_path)


def test_what_a_user_can_do_something_about_is_one_sentence(undisturbed, tiny, tmp_path, monkeypatch):
    settings = settings_for("smoke", experiment_named("r1-t5"))
    for error, said in ((OSError(28, "No space left on device"), "is full .checkpoint-8 is whole.: make room"),
                        (RuntimeError("Error while serializing: IoError(Os { code: 28 })"), "is full"),
                        (torch.OutOfMemoryError("CUDA out of memory"), "give --batch 2 --accumulation 2"),
                        (RuntimeError("DefaultCPUAllocator: can't allocate memory"), "Out of memory with batches")):
        with pytest.raises(training.Stopped, match=said), training._explained(work(undisturbed), settings):
            raise error
    with monkeypatch.context() as patch:  # torch's own words say nothing of a disk
        patch.setattr(training.shutil, "disk_usage", lambda folder: SimpleNamespace(free=0))
        with pytest.raises(training.Stopped, match="is full"), training._explained(work(undisturbed), settings):
            raise RuntimeError("unexpected pos 5346560 vs 5346452")
    with pytest.raises(KeyError), training._explained(tmp_path, settings):
        raise KeyError("a mistake of ours is not dressed up")
    with pytest.raises(training.Stopped, match="The model 'no/such' could not be loaded: give --model a folder"):
        training.run("r1-t5", "smoke", tmp_path, model="no/such", **SMALL)


@pytest.mark.parametrize("file", ["tokenizer.json", "config.json", "model.safetensors"])
def test_a_damaged_model_is_one_sentence(tiny, tmp_path, file):
    damaged = shutil.copytree(tiny, tmp_path / "model")
    (damaged / file).write_bytes((damaged / file).read_bytes()[:20])
    with pytest.raises(training.Stopped, match="could not be loaded: give --model a folder that has it whole"):
        training.run("r1-t5", "smoke", tmp_path, model=str(damaged), **SMALL)


@pytest.mark.slow
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
    experiment = experiment_named("ted15-mbart")
    settings = settings_for("smoke", experiment, **SMALL | {"steps": 2})
    (model, tokenizer), _ = training._train(experiment, settings, tmp_path / "work")
    assert model.generation_config.eos_token_id == tokenizer.convert_tokens_to_ids("en_XX")


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["r1", "r3"])
def test_a_step_of_the_demo_computes_little_more_with_the_tracker(rule, tmp_path, monkeypatch):
    """At most 1.2 times the baseline's operations, and nothing is tracked once the matrices are prepared."""
    operations = []
    for name in (f"{rule}-t5", f"{rule}-nretm"):
        experiment = experiment_named(name)
        settings = settings_for("demo", experiment)
        examples = TASKS[experiment.task].load("train", experiment.rule, size=300)
        model, tokenizer = training.build(experiment, settings)
        rows = state_matrices(examples, tokenizer, tmp_path, workers=1) if experiment.tracked else examples
        collate = nretm.Collator(model, tokenizer, rows.table if experiment.tracked else None)
        with monkeypatch.context() as patched, FlopCounterMode(display=False) as counter:
            patched.setattr(nretm.Tracker, "step", None)
            model(**collate([rows[i] for i in range(settings.batch)])).loss.backward()
        operations.append(counter.get_total_flops())
    assert 1 < operations[1] / operations[0] <= 1.2


def test_no_pickle_of_our_own():
    folder = os.path.dirname(training.__file__)
    for name in ("training.py", "checkpoints.py", "pretraining.py", "decoding.py", "probes.py", "metrics.py"):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            text = file.read()
        assert "torch.load" not in text and "import pickle" not in text
