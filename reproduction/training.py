"""Train and evaluate one experiment: from a profile to a run file.

    python -m reproduction train r1-nretm                              demo profile: minutes on one core
    python -m reproduction train r1-t5 --profile paper --data DIR --model t5-base --steps 500 --seed 1

Baseline and NRETM go through the same code: an experiment's `tracked` decides whether the model is equipped, no more.
The loop is transformers' Seq2SeqTrainer. A run that was killed resumes from its last whole checkpoint.
"""

import argparse
import contextlib
import dataclasses
import json
import random
import shlex
import shutil
import time
import warnings
from itertools import chain
from pathlib import Path

import torch
from safetensors.torch import load_model
from transformers import (
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    Seq2SeqTrainer,
    Seq2SeqTrainingArguments,
    TrainerCallback,
    set_seed,
)

import nretm
from nretm.modeling import RuleBroken, count
from reproduction import pretraining, probes
from reproduction.checkpoints import MODEL, keep_or_clear, last_checkpoint, step_of
from reproduction.data.matrices import state_matrices
from reproduction.decoding import end_documents, generate, set_generation, texts
from reproduction.experiments import EXPERIMENTS, Experiment, experiment_named
from reproduction.files import ROOT, results_folder, run_name, work_folder, write_whole
from reproduction.rates import adamw
from reproduction.report import run_files
from reproduction.settings import Settings, add_options, described, profile_names, settings_for
from reproduction.tasks import TASKS

BEST = "choice"  # of a checkpoint: the measure on dev and, where that is the same, the lower loss


class Stopped(RuntimeError):
    """A training that cannot continue, in one sentence: what happened, what is kept, what to do."""


def run(name: str, profile: str = "demo", root: Path = ROOT, **overrides) -> Path:
    """Train (or resume training) an experiment, evaluate it on the test split, write its run file; returns its path.

    Results go to root/results/<profile>, checkpoints and the trained model to root/work/<profile>.
    """
    experiment, began = experiment_named(name), time.perf_counter()
    settings, task = settings_for(profile, experiment, **overrides), TASKS[experiment.task]
    if not settings.data:
        raise Stopped(f"The profile {profile} is of real text: name its folder by --data DIR.")
    work = work_folder(root, profile) / run_name(experiment.decodes or name, settings.seed)
    with _explained(work, settings):
        if experiment.decodes:
            trained, outcome = load_trained(experiment.decodes, profile, root, **overrides), {}
            trained[0].to(_device(settings))
        else:
            trained, outcome = _train(experiment, settings, work)
        test = task.load("test", experiment.rule, settings.data, settings.test_size, settings.shares,
                         settings.document)
        start = time.perf_counter()
        outputs = generate(*trained, experiment, settings, test)
        seconds = outcome.pop("seconds", {}) | {"test": time.perf_counter() - start}
        scores = task.scores(experiment.rule, task.as_trained(test), outputs, settings.data)
        probed = probes.PROBES[experiment.probe](*trained, experiment, settings) if experiment.probe else None
    seconds["total"] = time.perf_counter() - began
    made_by = {"command": command(name, profile, settings, overrides)} | run_files.surroundings()
    record = {"experiment": name, "profile": profile, "seed": settings.seed, "table": experiment.table,
              "row": experiment.row, "task": task.name, "rule": experiment.rule, "tracked": experiment.tracked,
              "split": "test", "steps": settings.steps, "settings": described(settings),
              "parameters": dataclasses.asdict(count(trained[0])),
              "data": outcome.pop("data", {}) | {"test": dataclasses.asdict(test.provenance)},
              "seconds": {part: round(value, 1) for part, value in seconds.items()}} | outcome | made_by
    rows = [{"id": e.id, "source": e.source, "rule": str(e.rule), "output": text, "target": e.target,
             "satisfied": nretm.check(e.rule, text, policy=task.policy).satisfied}
            for e, text in zip(test, outputs, strict=True)]
    results = results_folder(root, profile)
    if probed is not None:
        probes.write(results, experiment, settings.seed, probed, made_by)
    path = run_files.run_path(results, name, settings.seed)
    run_files.write_run(path, record, scores, rows if settings.data == "builtin" else None)
    return path


def build(experiment: Experiment, settings: Settings):
    """The model that training starts from, equipped if the experiment is tracked, and its tokenizer."""
    set_seed(settings.seed)
    try:
        tokenizer = AutoTokenizer.from_pretrained(settings.model_path)
        model = AutoModelForSeq2SeqLM.from_pretrained(settings.model_path, dtype=torch.float32)
    except Exception as error:  # a damaged file shows as an exception of one of three libraries
        raise Stopped(f"The model {settings.model!r} could not be loaded: give --model a folder that has it whole, or "
                      f"a hub id on a machine with a connection{_how_made(settings.model)}. "
                      f"({type(error).__name__}: {error})") from error
    model.accepts_loss_kwargs = False  # or Trainer believes that it divides its loss by the accumulated batches
    task = TASKS[experiment.task]
    if task.languages and task.languages[1] not in tokenizer.get_vocab():
        end_documents(model, tokenizer)
    if experiment.tracked:
        nretm.equip(model, tokenizer, task.policy)
    if settings.freeze:
        nretm.freeze(model)
    if not settings.embeddings:
        model.get_input_embeddings().requires_grad_(False)
        model.get_output_embeddings().requires_grad_(False)
    set_generation(model, tokenizer, task, settings)
    return model, tokenizer


def _how_made(model: str) -> str:
    return f", or run `python -m reproduction pretrain {model} --data DIR`" if model in pretraining.MODELS else ""


def load_trained(name: str, profile: str = "demo", root: Path = ROOT, **overrides):
    """The trained model of an experiment, ready to generate, and its tokenizer."""
    experiment = experiment_named(name)
    settings = settings_for(profile, experiment, **overrides)
    weights = work_folder(root, profile) / run_name(name, settings.seed) / MODEL
    if not weights.is_file():
        raise Stopped(f"{name} has not been trained with seed {settings.seed} under the profile {profile}: "
                      f"run `python -m reproduction train {name} --profile {profile} --seed {settings.seed}` first.")
    model, tokenizer = build(experiment, settings)
    missing, unexpected = load_model(model, weights, strict=False)
    if lacking := {*missing, *unexpected} - set(model._keys_to_ignore_on_save or ()):  # Marian's positions are computed
        raise Stopped(f"{weights} is not of this model ({', '.join(sorted(lacking)[:3])}): delete it and train again.")
    return model.eval(), tokenizer


def _train(experiment: Experiment, settings: Settings, work: Path):
    """The best model on dev, and what a run file says of its training."""
    keep_or_clear(work, "settings.json", json.dumps(dataclasses.asdict(settings), indent=1))
    task = TASKS[experiment.task]
    train, dev = task.train_and_dev(experiment.rule, settings.data, settings.train_size, settings.dev_size,
                                    settings.shares, settings.document)
    model, tokenizer = build(experiment, settings)
    rows, table = train, None
    if experiment.tracked:  # made once and kept: the matrix of a gold output never changes
        rows = state_matrices(train, tokenizer, work.parent / "matrices", task.policy, workers=1)
        table = rows.table
    if settings.alike:
        rows = torch.utils.data.Subset(rows, training_order([len(e.target) for e in train], settings))
    judged = task.as_trained(dev)

    def measure(prediction) -> dict[str, float]:
        tokens = prediction.predictions.clip(min=0)  # batches are joined with -100
        outputs = texts(tokens.tolist(), tokenizer, task.policy.separator)
        score = task.dev_score(judged, outputs).value
        return {task.dev_measure: score, BEST: score - float(prediction.losses.mean()) / 100}

    trainer = Seq2SeqTrainer(
        model=model, args=_arguments(settings, work), train_dataset=rows, eval_dataset=dev,
        data_collator=nretm.Collator(model, tokenizer, table), processing_class=tokenizer, compute_metrics=measure,
        callbacks=[_Log(work / "log.jsonl"), _Generation(task, settings)],
        optimizers=(_optimizer(model, settings), None))
    last = last_checkpoint(work)
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuleBroken)
        trainer.train(resume_from_checkpoint=str(last) if last else None)
    seconds = time.perf_counter() - began
    trainer.save_model(str((work / MODEL).parent))
    state = trainer.state
    outcome = {"data": {"train": dataclasses.asdict(train.provenance), "dev": dataclasses.asdict(dev.provenance)},
               "best_step": state.best_global_step, "resumed_from": step_of(last) if last else None,
               "log": [_entry(row) for row in state.log_history], "seconds": {"train": seconds}}
    return (trainer.model, tokenizer), outcome


def training_order(lengths: list[int], settings: Settings) -> list[int]:
    """Which example comes when, as indices: in random order, but with targets of about one length in each batch.

    It depends on the seed alone: a training that resumes sees what it would have seen, and so do baseline and NRETM.
    """
    rng, order, batch = random.Random(f"order {settings.seed}"), [], min(settings.batch, len(lengths))
    wanted, pool = settings.steps * settings.batch * settings.accumulation, 50 * batch  # sorted among themselves
    while len(order) < wanted:
        shuffled = rng.sample(range(len(lengths)), len(lengths))
        pools = [sorted(shuffled[at:at + pool], key=lengths.__getitem__) for at in range(0, len(shuffled), pool)]
        batches = [part[at:at + batch] for part in pools for at in range(0, len(part) - batch + 1, batch)]
        order += chain.from_iterable(rng.sample(batches, len(batches)))
    return order[:wanted]


def _arguments(settings: Settings, work: Path) -> Seq2SeqTrainingArguments:
    on_cpu = _device(settings) == "cpu"
    return Seq2SeqTrainingArguments(
        output_dir=str(work), max_steps=settings.steps, per_device_train_batch_size=settings.batch,
        gradient_accumulation_steps=settings.accumulation, learning_rate=settings.learning_rate,
        lr_scheduler_type=settings.schedule, warmup_steps=settings.warmup, adam_beta2=settings.beta2,
        weight_decay=settings.weight_decay, max_grad_norm=settings.clip, bf16=settings.precision == "bf16",
        seed=settings.seed, use_cpu=on_cpu, per_device_eval_batch_size=settings.decode_batch,
        eval_strategy="steps", eval_steps=settings.evaluate_every, save_strategy="steps",
        save_steps=settings.evaluate_every, save_total_limit=2, load_best_model_at_end=True,
        metric_for_best_model=BEST, include_for_metrics=["loss"], greater_is_better=True, predict_with_generate=True,
        generation_num_beams=settings.dev_beams, logging_steps=max(1, min(50, settings.evaluate_every // 2)),
        train_sampling_strategy="sequential" if settings.alike else "random",
        remove_unused_columns=False, label_names=["labels"], dataloader_pin_memory=not on_cpu, report_to="none")


def _optimizer(model, settings: Settings) -> torch.optim.Optimizer | None:
    """AdamW with rates of their own for what NRETM adds and for T5's queries; Trainer's (None) if all are the same."""
    if settings.query_rate == 1.0 and (settings.state_rate == 1.0 or not hasattr(model, "nretm")):
        return None

    def factor(name: str) -> float:
        if name.startswith("nretm."):
            return settings.state_rate
        return settings.query_rate if name.endswith(".q.weight") else 1.0

    return adamw(model, settings.learning_rate, factor, settings.beta2, settings.weight_decay)


def _device(settings: Settings) -> str:
    return ("cuda" if torch.cuda.is_available() else "cpu") if settings.device == "auto" else settings.device


class _Log(TrainerCallback):
    """Keeps the log of a training as a file, one JSON per line: after a resumption, as if there had been none."""

    def __init__(self, path: Path):
        self.path = path

    def on_log(self, args, state, control, **kwargs):
        if state.is_world_process_zero:
            write_whole(self.path, "".join(json.dumps(_entry(row)) + "\n" for row in state.log_history))


class _Generation(TrainerCallback):
    """Trainer begins by letting the tokenizer's `</s>` end every text, as it does the first sentence of a document."""

    def __init__(self, task, settings: Settings):
        self.task, self.settings = task, settings

    def on_train_begin(self, args, state, control, model=None, processing_class=None, **kwargs):
        set_generation(model, processing_class, self.task, self.settings)


def _entry(row: dict) -> dict:
    """What a plot reads: step, loss, rate, and on dev the loss and the measure."""
    names = {"step": "step", "loss": "loss", "learning_rate": "rate", "eval_loss": "dev loss"}
    names |= {f"eval_{task.dev_measure}": f"dev {task.dev_measure}" for task in TASKS.values()}
    return {ours: row[theirs] for theirs, ours in names.items() if theirs in row}


@contextlib.contextmanager
def _explained(work: Path, settings: Settings):
    """Turn what a user can do something about into one sentence; earlier work stays as it is."""
    kept = "" if last_checkpoint(work) is None else " It will resume from there."
    try:
        yield
    except Exception as error:
        message = f"{type(error).__name__}: {error}"
        if "No space left" in message or "code: 28" in message or _disk_is_full(work):
            last = last_checkpoint(work)
            left = f"{last.name} is whole" if last else "nothing had been saved yet"
            raise Stopped(f"The disk that {work} is on is full ({left}): make room and give the same command again."
                          f"{kept}") from error
        if isinstance(error, torch.OutOfMemoryError | MemoryError) or "can't allocate memory" in message:
            raise Stopped(f"Out of memory with batches of {settings.batch}: give --batch {max(1, settings.batch // 2)} "
                          f"--accumulation {2 * settings.accumulation}, which makes the same steps.{kept}") from error
        raise


def _disk_is_full(work: Path) -> bool:
    """torch's writer says no more than "unexpected pos" when the disk is full: look at the disk itself."""
    return work.is_dir() and shutil.disk_usage(work).free < 2**20


# ---- command line ------------------------------------------------------------------------------------------------

def command(name: str, profile: str, settings: Settings, overrides: dict) -> str:
    """The command that makes this run again, whoever called; a folder is named without where it is."""
    values = described(settings)
    options = [word for key, value in overrides.items() if value is not None and key != "seed"
               for word in (f"--{key.replace('_', '-')}", str(values[key]))]
    return shlex.join(["python", "-m", "reproduction", "train", name, "--profile", profile,
                       "--seed", str(settings.seed), *options])


def main() -> None:
    head, _, rest = __doc__.partition("\n\n")
    parser = argparse.ArgumentParser(prog="python -m reproduction train", description=f"{head}\n\n{rest}",
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("experiment", choices=list(EXPERIMENTS), metavar="experiment",
                        help=f"a row of one of the paper's tables: {', '.join(EXPERIMENTS)}")
    parser.add_argument("--profile", default="demo", choices=profile_names(),
                        help="models, data and settings: demo (the default), minutes on a CPU; mini, real text on a "
                        "CPU; paper, days on a GPU; smoke, for tests")
    parser.add_argument("--root", type=Path, default=ROOT, metavar="DIR",
                        help="the folder of results/ and work/ (default: this checkout)")
    add_options(parser)
    arguments = vars(parser.parse_args())
    try:
        path = run(arguments.pop("experiment"), arguments.pop("profile"), arguments.pop("root"), **arguments)
    except (Stopped, ValueError, FileNotFoundError) as error:
        raise SystemExit(f"train: {error}") from error
    for measure, cell in run_files.read_run(path)["metrics"].items():
        figure = cell.get("missing", "nothing to count") if cell["value"] is None else (
            f"{cell['value']:6.2f}  [{cell['low']:.2f}, {cell['high']:.2f}]")
        print(f"{measure:18}{figure}")
    print(f"written: {path}")


if __name__ == "__main__":
    main()
