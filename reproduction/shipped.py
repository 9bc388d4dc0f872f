"""Trained models that come with the repository: half precision, in small files, with a card.

    python -m reproduction ship any-nretm        from the trained model in work/demo to reproduction/bases/any-nretm
"""

import argparse
import json
from pathlib import Path

import torch
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

import nretm
from reproduction import training
from reproduction.data import builtin_stories
from reproduction.experiments import EXPERIMENTS, experiment_named
from reproduction.files import BASES_FOLDER, ROOT, results_folder, write_whole
from reproduction.pretraining import SHARD
from reproduction.report import run_files
from reproduction.settings import settings_for

CARD = "card.json"


def ship(name: str, profile: str = "demo", root: Path = ROOT, folder: Path | None = None, seed: int = 0) -> Path:
    """Write the trained model of an experiment, with its tokenizer and its card."""
    trained, tokenizer = training.load_trained(name, profile, root, seed=seed)
    folder = folder or BASES_FOLDER / name
    tracked, weights = experiment_named(name).tracked, trained.half().state_dict()
    added = {key: tensor for key, tensor in weights.items() if key.startswith("nretm.")}
    settings = settings_for(profile, experiment_named(name), seed=seed)
    plain = AutoModelForSeq2SeqLM.from_pretrained(settings.model_path, dtype=torch.float32).half()
    plain.load_state_dict({key: tensor for key, tensor in weights.items() if key not in added})
    plain.generation_config, plain.config.name_or_path = trained.generation_config, name
    plain.save_pretrained(folder, max_shard_size=SHARD)
    tokenizer.save_pretrained(folder)
    if tracked:
        nretm.equip(plain, tokenizer, trained.nretm.options.policy)
        plain.load_state_dict(weights)
        nretm.save(plain, folder)
    run = run_files.read_run(run_files.run_path(results_folder(root, profile), name, seed))
    card = {"name": name, "trained on": "built-in stories (reproduction/data/any_rules.py)",
            "writes about": {theme: ", ".join(events) for theme, events in builtin_stories.THEMES.items()},
            "characters": [name for names in builtin_stories.NAMES.values() for name in names],
            "command": run["command"], "then": f"python -m reproduction ship {name}",
            "log": run["log"], "kept step": run["best_step"], "words": builtin_stories.vocabulary()}
    card |= {key: run[key] for key in ("parameters", "settings", "data", "seconds", "versions", "hardware", "commit")}
    card["figures"] = {measure: round(cell["value"], 1) for measure, cell in run["metrics"].items()}
    write_whole(folder / CARD, json.dumps(card, indent=1, ensure_ascii=False) + "\n")
    write_whole(folder / "README.md", readable(card))
    return folder


def readable(card: dict) -> str:
    """The card as a page."""
    settings, data = card["settings"], card["data"]["train"]
    themes = "\n".join(f"- {theme}: {events}" for theme, events in card["writes about"].items())
    figures = ", ".join(f"{measure} {value}" for measure, value in card["figures"].items())
    return f"""# {card["name"]}

{card["parameters"]["total"]:,} parameters in half precision. Trained with batches of {settings["batch"]}
from the base `{settings["model"]}`, on {data["examples"]:,} rules of any shape drawn from {data["rows"]:,}
{card["trained on"]}.
The weights are those of step {card["kept step"]:,}; the learning rate was to fall over {settings["steps"]:,}.

Made by `{card["command"]}` and `{card["then"]}`.

On the test stories with rules of the same kind: {figures}.
Figures on the rules of Table 1, on unseen shapes and on longer rules are in `results/demo/tables/any.md`.

It knows the {len(card["words"])} words of the built-in stories and no others. Its characters are
{", ".join(card["characters"])}, and it writes about

{themes}
"""


def load(name: str | Path):
    """A shipped model by name, or anybody's model by folder or hub id, and its tokenizer; equipped if it was."""
    folder = BASES_FOLDER / name if (BASES_FOLDER / name).is_dir() else Path(name)
    where = str(folder) if folder.is_dir() else str(name)
    tokenizer = AutoTokenizer.from_pretrained(where)
    model = AutoModelForSeq2SeqLM.from_pretrained(where, dtype=torch.float32)
    if (folder / "nretm.json").is_file():
        nretm.load(model, folder, tokenizer)
    return model.eval(), tokenizer


def card(name: str | Path) -> dict:
    """The card of a shipped model; empty for another."""
    path = BASES_FOLDER / name / CARD
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m reproduction ship", description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=[name for name, experiment in EXPERIMENTS.items() if experiment.shipped])
    parser.add_argument("--root", type=Path, default=ROOT, help="where results/ and work/ are")
    parser.add_argument("--out", type=Path, help="another folder than reproduction/bases/NAME")
    given = parser.parse_args()
    try:
        print(f"written: {ship(given.name, root=given.root, folder=given.out)}")
    except (training.Stopped, FileNotFoundError) as error:
        raise SystemExit(f"ship: {error}") from error


if __name__ == "__main__":
    main()
