"""Evaluate the models for any rule: on the five rules of Table 1, on unseen shapes and on longer rules.

    python -m reproduction any any-nretm        writes results/demo/runs/any-nretm-seed0.json; nothing is trained

Of the built-in stories the models that come with the repository are taken, of real ones those that were trained:

    python -m reproduction train any-nretm --profile mini --data DIR
    python -m reproduction any any-nretm --profile mini --data DIR
"""

import argparse
import dataclasses
import time
from pathlib import Path

import nretm
import reproduction.data
from nretm.modeling import count
from reproduction import metrics, shipped
from reproduction.data import any_rules
from reproduction.decoding import generate
from reproduction.experiments import EXPERIMENTS, experiment_named
from reproduction.files import ROOT, results_folder
from reproduction.report import run_files
from reproduction.report.any_table import csr_by_literals, csr_of
from reproduction.settings import profile_names, settings_for
from reproduction.training import load_trained

KINDS = (*any_rules.TEMPLATES, *any_rules.KINDS)
SIZE, ENFORCED_SIZE = 250, 50  # test stories of each kind; of those, how many are written again with the rule enforced


def run(name: str, profile: str = "demo", root: Path = ROOT, size: int = SIZE, data: str | None = None) -> Path:
    """Let a model write for the test rules of every kind, and write its run file."""
    experiment, began = experiment_named(name), time.perf_counter()
    settings = settings_for(profile, experiment, data=data)
    path = run_files.run_path(results_folder(root, profile), name, 0)
    about, ours = card(name, profile, root, data), settings.data == "builtin"
    model, tokenizer = shipped.load(name) if ours else load_trained(name, profile, root, data=data)
    scores, rows, by_literals, provenance = {}, [], {}, None
    for kind in KINDS:
        test = reproduction.data.load(experiment.task, "test", kind, settings.data, size=size, shares=settings.shares)
        rules = [example.rule for example in test]
        outputs = generate(model, tokenizer, experiment, settings, test)
        scores[csr_of(kind)] = metrics.csr(rules, outputs)
        if experiment.tracked:
            forced = _enforced(model, tokenizer, experiment, settings, test[:ENFORCED_SIZE])
            scores[csr_of(kind, enforced=True)] = metrics.csr(rules[:ENFORCED_SIZE], forced)
        if kind == "any":
            scores["ROUGE-L any"] = metrics.rouge_l([example.references for example in test], outputs)
        for example, text in zip(test, outputs, strict=True):
            rows.append({"id": example.id, "kind": kind, "rule": str(example.rule), "output": text,
                         "target": example.target, "satisfied": nretm.check(example.rule, text).satisfied})
            if kind in ("any", any_rules.LONG):
                by_literals.setdefault(len(example.rule.literals), []).append((example.rule, text))
        provenance = provenance or test.provenance
    for number in sorted(by_literals):
        scores[csr_by_literals(number)] = metrics.csr(*zip(*by_literals[number], strict=True))
    tested = dataclasses.replace(provenance, examples=len(rows))
    seconds = {"test": round(time.perf_counter() - began, 1)}
    if not ours:
        seconds["train"] = about["seconds"]["train"]
    record = {"experiment": name, "profile": profile, "seed": 0, "table": experiment.table, "row": experiment.row,
              "task": experiment.task, "rule": experiment.rule, "tracked": experiment.tracked, "split": "test",
              "steps": about["kept step"] if ours else about["steps"], "settings": about["settings"],
              "parameters": dataclasses.asdict(count(model)), "log": about["log"],
              "data": about["data"] | {"test": dataclasses.asdict(tested)},
              "seconds": seconds | {"total": round(sum(seconds.values()), 1)},
              "command": f"python -m reproduction any {name}" + ("" if ours else f" --profile {profile} --data DIR")}
    if not ours:  # the file that training wrote is written again
        record["best_step"] = about["best_step"]
    run_files.write_run(path, record | run_files.surroundings(), scores, rows if ours else None)
    return path


def card(name: str, profile: str = "demo", root: Path = ROOT, data: str | None = None) -> dict:
    """How the model was trained: what came with it, or of real text the run file that its training wrote."""
    if settings_for(profile, experiment_named(name), data=data).data == "builtin":
        return shipped.card(name)
    return run_files.read_run(run_files.run_path(results_folder(root, profile), name, 0))


def _enforced(model, tokenizer, experiment, settings, examples: list) -> list[str]:
    """What is written with the rule enforced; for a rule that is refused nothing, so that it counts as broken."""
    taken = [example for example in examples if _is_taken(example.rule, tokenizer, settings)]
    texts = generate(model, tokenizer, dataclasses.replace(experiment, enforced=True), settings, taken)
    written = {id(example): text for example, text in zip(taken, texts, strict=True)}
    return [written.get(id(example), "") for example in examples]


def _is_taken(rule, tokenizer, settings) -> bool:
    try:
        nretm.Enforcer([rule], tokenizer, max_new_tokens=settings.max_new_tokens)
        return True
    except ValueError:
        return False


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m reproduction any", description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=[name for name, experiment in EXPERIMENTS.items() if experiment.shipped])
    parser.add_argument("--profile", default="demo", choices=profile_names())
    parser.add_argument("--size", type=int, default=SIZE, help=f"test stories of each kind (default {SIZE})")
    parser.add_argument("--data", metavar="DIR", help="folder of real text; without it the profile decides")
    given = parser.parse_args()
    path = run(given.name, given.profile, size=given.size, data=given.data)
    for measure, cell in run_files.read_run(path)["metrics"].items():
        print(f"{measure:24}{cell['value']:6.2f}  [{cell['low']:.2f}, {cell['high']:.2f}]")
    print(f"written: {path}")


if __name__ == "__main__":
    main()
