"""What a guarantee costs: CSR, quality and time of six ways to have a rule obeyed, on the demo's trained models.

T5 as it is; the best of sixteen drawn texts by the checker; T5 enforced; grid beam search (concepts only); NRETM as it
is; NRETM enforced. Perplexity is that of the plain T5 of the same rule. Seconds are of one processor, per text.
"""

import argparse
import json
import math
import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch

import nretm
from reproduction import metrics
from reproduction.data import Example
from reproduction.decoding import generate, set_generation
from reproduction.experiments import STORY_RULES, Experiment, experiment_named
from reproduction.files import ROOT, results_folder, write_whole
from reproduction.report import run_files
from reproduction.settings import Settings, settings_for
from reproduction.tasks import TASKS
from reproduction.training import load_trained

DRAWS = 16
STUDIES = {**{rule: (f"{rule}-t5", f"{rule}-nretm") for rule in STORY_RULES},
           "concepts": ("commongen-t5-base", "commongen-t5-base-pc")}


class Model:
    """A trained model of the demo, and the texts that it writes."""

    def __init__(self, name: str, root: Path):
        self.experiment: Experiment = experiment_named(name)
        self.settings: Settings = settings_for("demo", self.experiment)
        self.task = TASKS[self.experiment.task]
        self.model, self.tokenizer = load_trained(name, "demo", root)

    def plain(self, examples: Sequence[Example]) -> list[str]:
        return self._decoded(examples)

    def grid(self, examples: Sequence[Example]) -> list[str]:
        return self._decoded(examples, decodes=self.experiment.name)

    def enforced(self, examples: Sequence[Example], bonus: float = 0.0) -> list[str]:
        return self._decoded(examples, bonus, enforced=True)

    def _decoded(self, examples: Sequence[Example], bonus: float = 0.0, **changes) -> list[str]:
        experiment = replace(self.experiment, **changes)
        return generate(self.model, self.tokenizer, experiment, self.settings, examples, bonus)

    @torch.no_grad()
    def best(self, examples: Sequence[Example]) -> list[str]:
        """The first of sixteen drawn texts that obeys; if none does, the first."""
        torch.manual_seed(0)
        set_generation(self.model, self.tokenizer, self.task, self.settings)
        collator, found, size = nretm.Collator(self.model, self.tokenizer), [], self.settings.decode_batch
        for at in range(0, len(examples), size):
            part = examples[at:at + size]
            batch = {name: value for name, value in collator(part).items() if name != "labels"}
            tokens = self.model.generate(**batch, do_sample=True, num_beams=1, top_k=0, num_return_sequences=DRAWS)
            drawn = self.tokenizer.batch_decode(tokens, skip_special_tokens=True)
            for n, rule in enumerate(self.rules(part)):
                texts = drawn[n * DRAWS:(n + 1) * DRAWS]
                found.append(next((t for t in texts if nretm.check(rule, t, policy=self.task.policy)), texts[0]))
        return found

    def rules(self, examples: Sequence[Example]) -> list[nretm.Rule]:
        """What the texts are held against: of concepts any inflection counts, as in the paper's measure."""
        return [self.task.judged_by(example.rule) for example in examples]

    @torch.no_grad()
    def perplexity(self, examples: Sequence[Example], outputs: Sequence[str]) -> float:
        """Of the texts under this model, per token."""
        total = count = 0
        for example, text in zip(examples, outputs, strict=True):
            source = self.tokenizer(example.source + str(example.rule), return_tensors="pt")
            labels = self.tokenizer(text_target=text, return_tensors="pt")["input_ids"]
            total += self.model(**source, labels=labels).loss.item() * labels.shape[1]
            count += labels.shape[1]
        return math.exp(total / count)


def study(name: str, split: str, size: int | None, root: Path, bonuses: Sequence[float]) -> list[dict]:
    """One row per way."""
    t5, tracked = (Model(experiment, root) for experiment in STUDIES[name])
    examples = t5.task.load(split, t5.experiment.rule, t5.settings.data, size, t5.settings.shares)
    ways = {"T5": t5.plain, f"T5, best of {DRAWS}": t5.best, "T5, enforced": t5.enforced}
    ways |= {"T5, grid beam search": t5.grid} if name == "concepts" else {}
    ways |= {"NRETM": tracked.plain, "NRETM, enforced": tracked.enforced}
    for bonus in bonuses:
        ways[f"T5, enforced, bonus {bonus:g}"] = lambda part, bonus=bonus: t5.enforced(part, bonus)
        ways[f"NRETM, enforced, bonus {bonus:g}"] = lambda part, bonus=bonus: tracked.enforced(part, bonus)
    rules, judged, rows = t5.rules(examples), t5.task.as_trained(examples), []
    for way, write in ways.items():
        start = time.process_time()
        outputs = write(examples)
        seconds = (time.process_time() - start) / len(examples)
        references = [e.references for e in judged]
        quality = ("CIDEr", metrics.cider) if name == "concepts" else ("ROUGE-L", metrics.rouge_l)
        rows.append({"rule": name, "way": way, "CSR": float(metrics.csr(rules, outputs).value),
                     quality[0]: float(quality[1](references, outputs).value),
                     "perplexity": t5.perplexity(examples, outputs), "seconds per text": seconds,
                     "texts": len(examples)})
        print({key: round(value, 3) if isinstance(value, float) else value for key, value in rows[-1].items()},
              flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m reproduction enforcement", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("studies", nargs="*", default=list(STUDIES), help=f"any of {', '.join(STUDIES)} (default: all)")
    parser.add_argument("--split", default="test", choices=("dev", "test"), help="settings are chosen on dev")
    parser.add_argument("--size", type=int, metavar="N", help="only the first N examples")
    parser.add_argument("--bonus", type=float, nargs="*", default=[], help="also with these bonuses (nretm.Enforcer)")
    parser.add_argument("--root", type=Path, default=ROOT, metavar="DIR", help="the folder of results/ and work/")
    given = parser.parse_args()
    warnings.simplefilter("ignore", nretm.RuleBroken)
    path = results_folder(given.root, "demo") / f"enforcement-{given.split}.json"
    record = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {"rows": []}
    for name in given.studies:
        rows = study(name, given.split, given.size, given.root, given.bonus)
        record["rows"] = [row for row in record["rows"] if row["rule"] != name] + rows
        command = f"python -m reproduction enforcement {' '.join(given.studies)} --split {given.split}"
        command += f" --size {given.size}" * bool(given.size)
        record |= {"split": given.split, "profile": "demo", "seed": 0, "command": command} | run_files.surroundings()
        write_whole(path, json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    print(f"written: {path}")


if __name__ == "__main__":
    main()
