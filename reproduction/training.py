"""Train and evaluate one experiment: from a profile to a run file.

    python -m reproduction train r1-nretm                              demo profile: minutes on one core
    python -m reproduction train r1-t5 --profile paper --data DIR --model t5-base --steps 500 --seed 1

Baseline and NRETM go through the same code: an experiment's `tracked` decides whether the model is equipped, no more.
The loop is transformers' Seq2SeqTrainer. A run that was killed goes on from its last whole checkpoint.
"""

import argparse
import contextlib
import dataclasses
import json
import random
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
import reproduction.data
from nretm.modeling import RuleBroken, count
from reproduction import evaluation, pretraining
from reproduction import settings as profile
from reproduction.data.matrices import state_matrices
from reproduction.experiments import EXPERIMENTS, Experiment, experiment
from reproduction.files import ROOT, run_name, work_folder, write_whole
from reproduction.grid_beam_search import grid_beam_search
from reproduction.report import run_files
from reproduction.settings import Settings

CHECKPOINT = ("model.safetensors", "optimizer.pt", "scheduler.pt", "trainer_state.json")
TARGET_LANGUAGE = "en_XX"


class Stopped(RuntimeError):
    """A training that cannot go on, in one sentence: what happened, what is kept, what to do."""


def run(name: str, profile_name: str = "demo", root: Path = ROOT, **overrides) -> Path:
    """Train (or go on training) an experiment, evaluate it on the test split, write its run file; returns its path.

    Results go to root/results/<profile>, checkpoints and the trained model to root/work/<profile>.
    """
    one, began = experiment(name), time.perf_counter()
    chosen = profile.settings(profile_name, one, **overrides)
    if not chosen.data:
        raise Stopped(f"The profile {profile_name} is of real text: name its folder by --data DIR.")
    work = work_folder(root, profile_name) / run_name(one.weights or name, chosen.seed)
    with _explained(work, chosen):
        if one.weights:
            trained, outcome = load_trained(one.weights, profile_name, root, **overrides), {}
            trained[0].to(_device(chosen))
        else:
            trained, outcome = _train(one, chosen, work)
        test = _examples(one, "test", chosen)
        start = time.perf_counter()
        outputs = generate(*trained, one, chosen, test)
        seconds = outcome.pop("seconds", {}) | {"test": time.perf_counter() - start}
        scores = evaluation.score(one.task, one.rule, test, outputs, chosen.data)
    described, seconds["total"] = profile.describe(chosen), time.perf_counter() - began
    record = {"experiment": name, "profile": profile_name, "seed": chosen.seed, "table": one.table, "row": one.row,
              "task": one.task, "rule": one.rule, "tracked": one.tracked, "split": "test", "steps": chosen.steps,
              "settings": described, "parameters": dataclasses.asdict(count(trained[0])),
              "data": outcome.pop("data", {}) | {"test": dataclasses.asdict(test.provenance)},
              "seconds": {part: round(value, 1) for part, value in seconds.items()},
              "command": _command(name, profile_name, described, overrides)} | outcome | run_files.surroundings()
    rows = [{"id": e.id, "source": e.source, "rule": str(e.rule), "output": text, "target": e.target,
             "satisfied": nretm.check(e.rule, text, policy=reproduction.data.policy(one.task)).satisfied}
            for e, text in zip(test, outputs, strict=True)]
    path = run_files.run_path(root / "results" / profile_name, name, chosen.seed)
    run_files.write_run(path, record, scores, rows if chosen.data == "builtin" else None)
    return path


def build(one: Experiment, chosen: Settings):
    """The model that training starts from, equipped if the experiment is tracked, and its tokenizer."""
    set_seed(chosen.seed)
    try:
        tokenizer = AutoTokenizer.from_pretrained(chosen.model_path)
        model = AutoModelForSeq2SeqLM.from_pretrained(chosen.model_path, dtype=torch.float32)
    except Exception as error:  # a damaged file shows as an exception of one of three libraries
        raise Stopped(f"The model {chosen.model!r} could not be loaded: give --model a folder that has it whole, or a "
                      f"hub id on a machine with a connection{_how_made(chosen.model)}. "
                      f"({type(error).__name__}: {error})") from error
    model.accepts_loss_kwargs = False  # or Trainer believes that it divides its loss by the accumulated batches
    if one.tracked:
        nretm.equip(model, tokenizer, reproduction.data.policy(one.task))
    if chosen.freeze:
        nretm.freeze(model)
    set_generation(model, tokenizer, one, chosen)
    return model, tokenizer


def _how_made(model: str) -> str:
    return f", or run `python -m reproduction pretrain {model} --data DIR`" if model in pretraining.MODELS else ""


def set_generation(model, tokenizer, one: Experiment, chosen: Settings) -> None:
    """How the model generates. Trainer fills in defaults of its own, so this is said more than once."""
    config = model.generation_config
    config.max_length, config.max_new_tokens, config.num_beams = None, chosen.max_new_tokens, chosen.beams
    config.length_penalty, config.no_repeat_ngram_size = chosen.length_penalty, chosen.no_repeat_ngram
    if one.task == "ted15" and TARGET_LANGUAGE in tokenizer.get_vocab():  # a document begins and ends with its language
        tokenizer.src_lang, tokenizer.tgt_lang = "zh_CN", TARGET_LANGUAGE
        language = tokenizer.convert_tokens_to_ids(TARGET_LANGUAGE)
        config.decoder_start_token_id = config.eos_token_id = language
        config.forced_eos_token_id = None


def load_trained(name: str, profile_name: str = "demo", root: Path = ROOT, **overrides):
    """The trained model of an experiment, ready to generate, and its tokenizer."""
    one = experiment(name)
    chosen = profile.settings(profile_name, one, **overrides)
    folder = work_folder(root, profile_name) / run_name(name, chosen.seed) / "model"
    if not (folder / "model.safetensors").is_file():
        raise Stopped(f"{name} has not been trained with seed {chosen.seed} under the profile {profile_name}: "
                      f"run `python -m reproduction train {name} --profile {profile_name} --seed {chosen.seed}` first.")
    model, tokenizer = build(one, chosen)
    load_model(model, folder / "model.safetensors")
    return model.eval(), tokenizer


@torch.no_grad()
def generate(model, tokenizer, one: Experiment, chosen: Settings, examples) -> list[str]:
    """What the model writes for the examples: by grid beam search where the experiment says so, else as it is set."""
    set_generation(model, tokenizer, one, chosen)
    collator, outputs = nretm.Collator(model, tokenizer), []
    separator = reproduction.data.policy(one.task).separator
    model.eval()
    for at in range(0, len(examples), chosen.decode_batch):
        part = examples[at:at + chosen.decode_batch]
        batch = {name: value.to(model.device) if isinstance(value, torch.Tensor) else value
                 for name, value in collator(part).items() if name != "labels"}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuleBroken)  # they are counted
            if one.weights:
                boundary = evaluation.word_boundaries(tokenizer, model.config.vocab_size).to(model.device)
                concepts = evaluation.concept_tokens(one, part, tokenizer)
                tokens = grid_beam_search(model, concepts, chosen.beams, boundary, **batch)
            else:
                tokens = model.generate(**batch)
        outputs += evaluation.texts(tokens.tolist(), tokenizer, separator)
    return outputs


def _train(one: Experiment, chosen: Settings, work: Path):
    """The best model on dev, and what a run file tells of its training."""
    _keep_or_clear(work, chosen)
    train, dev = _examples(one, "train", chosen), _examples(one, "dev", chosen)
    model, tokenizer = build(one, chosen)
    policy = reproduction.data.policy(one.task)
    rows, table = train, None
    if one.tracked:  # made once and kept: the matrix of a gold output never changes
        rows = state_matrices(train, tokenizer, work.parent / "matrices", policy, workers=1)
        table = rows.table

    def measure(prediction) -> dict[str, float]:
        tokens = prediction.predictions.clip(min=0)  # batches are joined with -100
        return {evaluation.DEV_MEASURE[one.task]: evaluation.dev_score(
            one.task, dev, evaluation.texts(tokens.tolist(), tokenizer, policy.separator))}

    if chosen.alike:
        rows = torch.utils.data.Subset(rows, training_order([len(e.target) for e in train], chosen))
    trainer = Seq2SeqTrainer(
        model=model, args=_arguments(one, chosen, work), train_dataset=rows, eval_dataset=dev,
        data_collator=nretm.Collator(model, tokenizer, table), processing_class=tokenizer, compute_metrics=measure,
        callbacks=[_Log(work / "log.jsonl"), _Generation(one, chosen)], optimizers=(_optimizer(model, chosen), None))
    last = last_checkpoint(work)
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuleBroken)
        trainer.train(resume_from_checkpoint=str(last) if last else None)
    seconds = time.perf_counter() - began
    trainer.save_model(str(work / "model"))
    state = trainer.state
    outcome = {"data": {"train": dataclasses.asdict(train.provenance), "dev": dataclasses.asdict(dev.provenance)},
               "best_step": state.best_global_step, "resumed_from": int(last.name.split("-")[1]) if last else None,
               "log": [_entry(row) for row in state.log_history], "seconds": {"train": seconds}}
    return (trainer.model, tokenizer), outcome


def _examples(one: Experiment, split: str, chosen: Settings):
    """The examples of a split. The zero-shot sentences 1 and 2 are for the test alone: its dev is kept from train."""
    size = getattr(chosen, f"{split}_size")
    if one.rule != "zeroshot" or split == "test":
        return reproduction.data.load(one.task, split, one.rule, chosen.data, size=size,
                                      shares=chosen.shares)
    examples = reproduction.data.load(one.task, "train", one.rule, chosen.data, size=chosen.train_size)
    cut = len(examples) - (chosen.dev_size or 500)
    kept = examples[:cut] if split == "train" else examples[cut:]
    return reproduction.data.Examples(kept, dataclasses.replace(examples.provenance, split=split, examples=len(kept)))


def training_order(lengths: list[int], chosen: Settings) -> list[int]:
    """Which example comes when, as indices: in random order, but with targets of about one length in each batch.

    It depends on the seed alone: a training that goes on sees what it would have seen, and so do baseline and NRETM.
    """
    rng, order, batch = random.Random(f"order {chosen.seed}"), [], min(chosen.batch, len(lengths))
    pool = 50 * batch  # examples that are sorted among themselves
    while len(order) < chosen.steps * chosen.batch * chosen.accumulation:
        shuffled = rng.sample(range(len(lengths)), len(lengths))
        pools = [sorted(shuffled[at:at + pool], key=lengths.__getitem__) for at in range(0, len(shuffled), pool)]
        batches = [part[at:at + batch] for part in pools for at in range(0, len(part) - batch + 1, batch)]
        order += chain.from_iterable(rng.sample(batches, len(batches)))
    return order[:chosen.steps * chosen.batch * chosen.accumulation]


def _arguments(one: Experiment, chosen: Settings, work: Path) -> Seq2SeqTrainingArguments:
    return Seq2SeqTrainingArguments(
        output_dir=str(work), max_steps=chosen.steps, per_device_train_batch_size=chosen.batch,
        gradient_accumulation_steps=chosen.accumulation, learning_rate=chosen.learning_rate,
        lr_scheduler_type=chosen.schedule, warmup_steps=chosen.warmup, adam_beta2=chosen.beta2,
        weight_decay=chosen.weight_decay, max_grad_norm=chosen.clip, bf16=chosen.precision == "bf16",
        seed=chosen.seed, use_cpu=_device(chosen) == "cpu", per_device_eval_batch_size=chosen.decode_batch,
        eval_strategy="steps", eval_steps=chosen.evaluate_every, save_strategy="steps",
        save_steps=chosen.evaluate_every, save_total_limit=2, load_best_model_at_end=True,
        metric_for_best_model=evaluation.DEV_MEASURE[one.task], greater_is_better=True, predict_with_generate=True,
        generation_num_beams=chosen.dev_beams, logging_steps=max(1, min(50, chosen.evaluate_every // 2)),
        train_sampling_strategy="sequential" if chosen.alike else "random",
        remove_unused_columns=False, label_names=["labels"],
        dataloader_pin_memory=_device(chosen) != "cpu", report_to="none")


def _optimizer(model, chosen: Settings) -> torch.optim.Optimizer | None:
    """AdamW with a rate of its own for what NRETM adds; None (Trainer's own) where the rates are the same."""
    if chosen.state_rate == 1.0 or not hasattr(model, "nretm"):
        return None
    added = [p for p in model.nretm.parameters() if p.requires_grad]
    own = {id(p) for p in added}
    others = [p for p in model.parameters() if p.requires_grad and id(p) not in own]
    return torch.optim.AdamW([{"params": others}, {"params": added, "lr": chosen.learning_rate * chosen.state_rate}],
                             lr=chosen.learning_rate, betas=(0.9, chosen.beta2), weight_decay=chosen.weight_decay)


def _device(chosen: Settings) -> str:
    return ("cuda" if torch.cuda.is_available() else "cpu") if chosen.device == "auto" else chosen.device


# ---- going on after a kill ---------------------------------------------------------------------------------------

def last_checkpoint(work: Path) -> Path | None:
    """The newest whole checkpoint. Trainer writes trainer_state.json last: where it can be read, all is there."""
    whole = [folder for folder in Path(work).glob("checkpoint-*") if _is_whole(folder)]
    return max(whole, key=lambda folder: int(folder.name.split("-")[1]), default=None)


def _is_whole(folder: Path) -> bool:
    try:
        json.loads((folder / "trainer_state.json").read_text(encoding="utf-8"))
    except (OSError, json.JSONDecodeError):
        return False
    return all((folder / name).is_file() for name in CHECKPOINT)


def _keep_or_clear(work: Path, chosen: Settings) -> None:
    """Remove half-written checkpoints, and all of them if they were made with other settings."""
    work.mkdir(parents=True, exist_ok=True)
    told, now = work / "settings.json", json.dumps(dataclasses.asdict(chosen), indent=1)
    same = told.is_file() and told.read_text(encoding="utf-8") == now
    for folder in work.glob("checkpoint-*"):
        if not same or not _is_whole(folder):
            shutil.rmtree(folder)
    if not same:
        shutil.rmtree(work / "model", ignore_errors=True)
    write_whole(told, now)


class _Log(TrainerCallback):
    """Keeps the log of a training as a file, one JSON a line: after a resumption, as if there had been none."""

    def __init__(self, path: Path):
        self.path = path

    def on_log(self, args, state, control, **kwargs):
        if state.is_world_process_zero:
            write_whole(self.path, "".join(json.dumps(_entry(row)) + "\n" for row in state.log_history))


class _Generation(TrainerCallback):
    """Trainer begins by letting the tokenizer's `</s>` end every text, as it does the first sentence of a document."""

    def __init__(self, one: Experiment, chosen: Settings):
        self.one, self.chosen = one, chosen

    def on_train_begin(self, args, state, control, model=None, processing_class=None, **kwargs):
        set_generation(model, processing_class, self.one, self.chosen)


def _entry(row: dict) -> dict:
    """What a plot reads: step, loss, rate, and on dev the loss and the measure."""
    names = {"step": "step", "loss": "loss", "learning_rate": "rate", "eval_loss": "dev loss"}
    names |= {f"eval_{measure}": f"dev {measure}" for measure in evaluation.DEV_MEASURE.values()}
    return {told: row[name] for name, told in names.items() if name in row}


@contextlib.contextmanager
def _explained(work: Path, chosen: Settings):
    """Turn what a user can do something about into one sentence; earlier work stays as it is."""
    kept = "" if last_checkpoint(work) is None else " It will go on from there."
    try:
        yield
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
        if "No space left" in said or "code: 28" in said or _disk_is_full(work):
            last = last_checkpoint(work)
            left = f"{last.name} is whole" if last else "nothing had been saved yet"
            raise Stopped(f"The disk that {work} is on is full ({left}): make room and give the same command again."
                          f"{kept}") from error
        if isinstance(error, torch.OutOfMemoryError | MemoryError) or "can't allocate memory" in said:
            raise Stopped(f"Out of memory with batches of {chosen.batch}: give --batch {max(1, chosen.batch // 2)} "
                          f"--accumulation {2 * chosen.accumulation}, which makes the same steps.{kept}") from error
        raise


def _disk_is_full(work: Path) -> bool:
    """torch's writer says no more than "unexpected pos" when the disk is full: look at the disk itself."""
    return work.is_dir() and shutil.disk_usage(work).free < 2**20


# ---- command line ------------------------------------------------------------------------------------------------

def _command(name: str, profile_name: str, described: dict, overrides: dict) -> str:
    """The command that makes this run again, whoever called."""
    told = {key: described[key] for key, value in overrides.items() if value is not None and key != "seed"}
    options = "".join(f" --{key.replace('_', '-')} {value}" for key, value in told.items())
    return f"python -m reproduction train {name} --profile {profile_name} --seed {described['seed']}{options}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m reproduction train", description=__doc__.splitlines()[0])
    parser.add_argument("experiment", choices=list(EXPERIMENTS), metavar="experiment", help=", ".join(EXPERIMENTS))
    parser.add_argument("--profile", default="demo", choices=profile.names())
    parser.add_argument("--root", type=Path, default=ROOT, help="where results/ and work/ are")
    for field in dataclasses.fields(Settings):
        parser.add_argument(f"--{field.name.replace('_', '-')}", dest=field.name, help="instead of the profile's")
    asked = vars(parser.parse_args())
    try:
        path = run(asked.pop("experiment"), asked.pop("profile"), asked.pop("root"), **asked)
    except (Stopped, ValueError, FileNotFoundError) as error:
        raise SystemExit(f"train: {error}") from error
    record = run_files.read_run(path)
    for measure, cell in record["metrics"].items():
        told = cell.get("missing", "nothing to count") if cell["value"] is None else (
            f"{cell['value']:6.2f}  [{cell['low']:.2f}, {cell['high']:.2f}]")
        print(f"{measure:18}{told}")
    print(f"written: {path}")


if __name__ == "__main__":
    main()
