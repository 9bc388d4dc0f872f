"""Let a model write for COLLIE's instances: plainly, at best of 20, or with its rule enforced.

    python -m reproduction collie --model DIR --instances FILE.jsonl.gz --out FOLDER --mode enforced

writes FOLDER/<mode>.jsonl, one JSON per line: the instance's id, the text (of best-of-20 all twenty), our verdict and
the perplexity under the same model.  What is there already is not written again, so that a run may be stopped at will.
Without --instances it makes instances of the thirteen structures from the built-in stories.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import warnings
from pathlib import Path

import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSeq2SeqLM, AutoTokenizer

import nretm
from nretm.tracking import automaton_for, reader_for, witnesses_for
from reproduction.collie import (
    STRUCTURES,
    WRITING,
    Instance,
    asked_of,
    builtin_instances,
    prompt_of,
    read_instances,
    rule_of,
)

MODES = ("plain", "best-of-20", "enforced")
ROOM = {"w": 12, "s": 30, "p": 120}  # new tokens for a word, a sentence, and a paragraph or passage, at least
TRIALS, TEMPERATURE, TOP_P = 20, 0.7, 0.95  # of best-of-20
REPEATED = 4  # no sequence of so many tokens is written twice: small models go round in circles
BONUS = 4.0  # for the beginning of a needed phrase, as room becomes short
NEUTRAL = "Write a short text."  # before the texts whose perplexity is measured
LONGEST = 1500  # tokens; an instance that needs more is left out, with a line that says so


class Writer:
    """A model, decoder-only or sequence-to-sequence, that answers prompts."""

    def __init__(self, folder: str | Path):
        self.tokenizer = AutoTokenizer.from_pretrained(folder, padding_side="left")
        self.decoder_only = not AutoConfig.from_pretrained(folder).is_encoder_decoder
        kind = AutoModelForCausalLM if self.decoder_only else AutoModelForSeq2SeqLM
        self.model = kind.from_pretrained(folder).eval()
        if self.tokenizer.pad_token_id is None:
            self.tokenizer.pad_token = self.tokenizer.eos_token

    def inputs(self, prompts: list[str]) -> dict:
        if self.tokenizer.chat_template:
            prompts = [self.tokenizer.apply_chat_template([{"role": "user", "content": prompt}], tokenize=False,
                                                          add_generation_prompt=True) for prompt in prompts]
        return self.tokenizer(prompts, return_tensors="pt", padding=True,
                              add_special_tokens=not self.tokenizer.chat_template)

    @torch.no_grad()
    def write(self, prompts: list[str], rules: list | None, room: int, **options) -> list[str]:
        """One text per prompt and trial."""
        inputs = self.inputs(prompts)
        if rules is not None:
            enforcer = nretm.Enforcer(rules, self.tokenizer, WRITING, max_new_tokens=room, **options)
            options = {**enforcer.settings, "logits_processor": [enforcer]}
        else:
            options |= {"max_new_tokens": room, "do_sample": options.get("do_sample", False)}
        begin = inputs["input_ids"].shape[1] if self.decoder_only else 1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ids = self.model.generate(**inputs, **options, no_repeat_ngram_size=REPEATED,
                                      pad_token_id=self.tokenizer.pad_token_id)
        if rules is not None:
            return [text.strip() for text in enforcer.texts(ids)]
        return [text.strip() for text in self.tokenizer.batch_decode(ids[:, begin:], skip_special_tokens=True)]

    @torch.no_grad()
    def perplexity(self, text: str) -> float | None:
        """Of the text per token, under the model, after the same prompt for all texts, whatever was asked for."""
        inputs, ids = self.inputs([NEUTRAL]), self.tokenizer(text, add_special_tokens=False)["input_ids"]
        if not ids:
            return None
        target = torch.tensor([ids])
        if self.decoder_only:
            whole = torch.cat([inputs["input_ids"], target], dim=1)
            logits = self.model(whole).logits[0, -len(ids) - 1:-1]
        else:
            logits = self.model(**inputs, labels=target).logits[0]
        return math.exp(min(torch.nn.functional.cross_entropy(logits.float(), target[0]).item(), 50))


def room_for(instance: Instance, tokenizer) -> int:
    """How many tokens the text may have: more than the shortest that obeys, which is found without the model."""
    automaton = automaton_for(asked_of(instance), reader_for(tokenizer, WRITING))
    shortest = witnesses_for(automaton).length(automaton.start, LONGEST)
    if shortest is None:
        raise ValueError(f"no text of at most {LONGEST} tokens was found that obeys {asked_of(instance)}")
    return max(ROOM[STRUCTURES[instance.kind][0]], int(1.25 * shortest) + 20)


def run(writer: Writer, instances: list[Instance], mode: str, path: Path, batch: int) -> None:
    """Write for all instances that the file does not have yet."""
    done = {json.loads(line)["id"] for line in path.read_text().splitlines()} if path.exists() else set()
    left = [instance for instance in instances if instance.id not in done]
    path.parent.mkdir(parents=True, exist_ok=True)
    by_room: dict[str, list[Instance]] = {}
    for instance in left:
        by_room.setdefault(instance.kind, []).append(instance)
    groups = [group[i:i + batch] for group in by_room.values() for i in range(0, len(group), batch)]
    groups.sort(key=lambda group: next(n for n, i in enumerate(left) if i is group[0]))
    for number, group in enumerate(groups, 1):
        rows = _write_group(writer, group, mode)
        with path.open("a") as file:
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        print(f"{mode}: group {number} of {len(groups)}, {len(done) + sum(map(len, groups[:number]))} texts",
              flush=True)


def _write_group(writer: Writer, group: list[Instance], mode: str) -> list[dict]:
    possible, rooms = [], []
    for instance in group:
        try:
            rooms.append(room_for(instance, writer.tokenizer))
            possible.append(instance)
        except ValueError as problem:
            print(f"{instance.id} is left out: {problem}", file=sys.stderr)
    if not possible:
        return []
    prompts, room = [_prompt(instance, mode) for instance in possible], max(rooms)
    if mode == "best-of-20":
        drawn = writer.write(prompts, None, room, do_sample=True, temperature=TEMPERATURE, top_p=TOP_P,
                             num_return_sequences=TRIALS)
        texts = [drawn[i:i + TRIALS] for i in range(0, len(drawn), TRIALS)]
    else:
        rules = [asked_of(instance) for instance in possible] if mode == "enforced" else None
        options = {"bonus": BONUS} if rules else {}
        texts = [[text] for text in writer.write(prompts, rules, room, **options)]
    rows = []
    for instance, trials in zip(possible, texts, strict=True):
        obeys = [bool(nretm.check(rule_of(instance), text, policy=WRITING)) for text in trials]
        best = trials[obeys.index(True)] if any(obeys) else trials[0]
        rows.append({"id": instance.id, "kind": instance.kind, "text": best, "satisfied": any(obeys),
                     "perplexity": writer.perplexity(best)}
                    | ({"trials": trials} if mode == "best-of-20" else {}))
    return rows


def by_structure(folder: str | Path) -> dict[str, dict[str, tuple[float, float | None]]]:
    """Mode -> structure -> percent satisfied by our checker, and the geometric mean of the perplexities."""
    found = {}
    for mode in MODES:
        path, rows = Path(folder, f"{mode}.jsonl"), {}
        for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
            row = json.loads(line)
            rows.setdefault(row["kind"], []).append((row["satisfied"], row["perplexity"]))
        for kind, pairs in rows.items():
            logs = [math.log(perplexity) for _, perplexity in pairs if perplexity]
            found.setdefault(mode, {})[kind] = (100 * sum(satisfied for satisfied, _ in pairs) / len(pairs),
                                                math.exp(sum(logs) / len(logs)) if logs else None)
    return found


def _prompt(instance: Instance, mode: str) -> str:
    return prompt_of(instance) if mode == "enforced" else instance.prompt


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m reproduction collie", description=__doc__.split("\n\n")[0])
    parser.add_argument("--model", required=True, help="a folder with a model of transformers and its tokenizer")
    parser.add_argument("--instances", help="JSON lines with id, kind, targets and prompt; built-in ones if left out")
    parser.add_argument("--out", required=True, help="the folder of the outputs")
    parser.add_argument("--mode", choices=MODES, default="enforced")
    parser.add_argument("--batch", type=int, default=8, help="instances of one structure that are written at a time")
    parser.add_argument("--per-structure", type=int, help="only so many instances of each structure")
    parser.add_argument("--kinds", help="only these structures, such as c05,c07")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    instances = read_instances(arguments.instances) if arguments.instances else builtin_instances()
    kinds = arguments.kinds.split(",") if arguments.kinds else list(STRUCTURES)
    parts = [[i for i in instances if i.kind == kind][:arguments.per_structure] for kind in kinds]
    run(Writer(arguments.model), [i for part in parts for i in part], arguments.mode,
        Path(arguments.out) / f"{arguments.mode}.jsonl", arguments.batch)


if __name__ == "__main__":
    main()
