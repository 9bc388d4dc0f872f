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
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

import torch
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    LogitsProcessor,
    NoRepeatNGramLogitsProcessor,
    SuppressTokensLogitsProcessor,
    TopPLogitsWarper,
)

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
from reproduction.grouped_attention import NAME as GROUPED
from reproduction.particles import Meant, Particles

MODES = ("plain", "best-of-20", "enforced")
ROOM = {"w": 12, "s": 30, "p": 120}  # new tokens for a word, a sentence, and a paragraph or passage, at least
TRIALS, TEMPERATURE, TOP_K, TOP_P = 20, 0.7, 50, 0.95  # of best-of-20
REPEATED = 4  # no sequence of so many tokens is written twice: small models go round in circles
# Texts for one instance that grow side by side where its rule is enforced, and what the first token of a needed word
# gains, in nats.  Prompts and these were chosen on 4 to 24 instances of a structure, those of --per-structure.
PARTICLES = {"c01": 8, "c02": 8, "c03": 8, "c04": 8, "c06a": 4, "c07": 8, "c08": 2, "c09": 2, "c10": 2, "c11": 2,
             "c12": 32, "c14": 1}
BONUS = {"c07": 4.0}
BEAMS = {"c05": 32}  # instead of particles: where words have their places, a search looks farther than draws
MEANT = 1.0  # nats: what beams may continue a word with (`particles.Meant`); else long non-words fill the room
WRITER = "You are a writer."  # to beams in place of the system prompt of a chat model, whose name they would repeat
PARAGRAPH = 30  # tokens more for each paragraph of a passage: in haste a model writes "It." and then the ending
VERY_LONG = 600  # tokens: such a text grows alone
NEUTRAL = "Write a short text."  # before the texts whose perplexity is measured
LONGEST = 4000  # tokens; an instance that needs more is left out, with a line that says so


class NoRepetition(NoRepeatNGramLogitsProcessor):
    """No sequence of so many tokens twice; what stands before `begin`, such as a prompt, may be written again."""

    def __init__(self, size: int, begin: int):
        super().__init__(size)
        self.begin = begin

    def __call__(self, input_ids, scores):
        return super().__call__(input_ids[:, self.begin:], scores)


class Sampling(LogitsProcessor):
    """Draws the next token by temperature, top_k and top_p, and leaves only that: generate itself would sort and draw
    from the whole vocabulary, which takes longer than a small model."""

    def __call__(self, input_ids, scores):
        values, tokens = self.nucleus(scores)
        drawn = tokens.gather(1, torch.multinomial(values.softmax(dim=-1), 1))
        return torch.full_like(scores, -torch.inf).scatter(1, drawn, 0.0)

    def nucleus(self, scores):
        """The scores and the tokens, both (R, TOP_K), that may be drawn; -inf for those that top_p leaves out."""
        values, tokens = (scores / TEMPERATURE).topk(min(TOP_K, scores.shape[-1]))
        return TopPLogitsWarper(TOP_P)(None, values), tokens


class Writer:
    """A model, decoder-only or sequence-to-sequence, that answers prompts.

    A decoder-only model writes in bfloat16 where the processor multiplies it (twice as fast, and the texts are judged
    by what they say); perplexities are those of the weights as they are.
    """

    def __init__(self, folder: str | Path):
        self.tokenizer = AutoTokenizer.from_pretrained(folder, padding_side="left")
        self.decoder_only = not AutoConfig.from_pretrained(folder).is_encoder_decoder
        kind = AutoModelForCausalLM if self.decoder_only else AutoModelForSeq2SeqLM
        self.model = self.judge = kind.from_pretrained(folder).eval()
        if self.decoder_only and _fast_bfloat16():
            self.model = kind.from_pretrained(folder, dtype=torch.bfloat16, attn_implementation=GROUPED).eval()
        if self.tokenizer.pad_token_id is None:
            self.tokenizer.pad_token = self.tokenizer.eos_token

    def inputs(self, prompts: list[str], system: str | None = None) -> dict:
        if self.tokenizer.chat_template:
            first = [{"role": "system", "content": system}] if system else []
            prompts = [self.tokenizer.apply_chat_template([*first, {"role": "user", "content": prompt}], tokenize=False,
                                                          add_generation_prompt=True) for prompt in prompts]
        return self.tokenizer(prompts, return_tensors="pt", padding=True,
                              add_special_tokens=not self.tokenizer.chat_template)

    def read(self, prompts: list[str], copies: int) -> dict:
        """Inputs of generate for so many copies of each prompt, of which a decoder-only model reads one only."""
        inputs = self.inputs(prompts)
        if self.decoder_only and copies > 1:
            before = {name: tensor[:, :-1] for name, tensor in inputs.items()}
            places = (before["attention_mask"].cumsum(dim=1) - 1).clamp(min=0)
            read = self.model(**before, position_ids=places, use_cache=True, logits_to_keep=1)
            inputs["past_key_values"] = read.past_key_values
            inputs["past_key_values"].batch_repeat_interleave(copies)
        return inputs

    @torch.no_grad()
    def write(self, prompts: list[str], room: int, trials: int = 1) -> list[list[str]]:
        """The likeliest text for each prompt or, at several trials, so many that are drawn."""
        inputs = {name: value if name == "past_key_values" else value.repeat_interleave(trials, dim=0)
                  for name, value in self.read(prompts, trials).items()}
        begin = inputs["input_ids"].shape[1] if self.decoder_only else 1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ids = self.model.generate(**inputs, max_new_tokens=room, do_sample=False, no_repeat_ngram_size=REPEATED,
                                      logits_processor=[Sampling()] if trials > 1 else [],
                                      pad_token_id=self.tokenizer.pad_token_id)
        texts = [text.strip() for text in self.tokenizer.batch_decode(ids[:, begin:], skip_special_tokens=True)]
        return [texts[i:i + trials] for i in range(0, len(texts), trials)]

    @torch.no_grad()
    def search(self, prompts: list[str], rules: list, room: int, beams: int) -> list[list[str]]:
        """The best of so many beams for each prompt with its rule enforced."""
        inputs = self.inputs(prompts, WRITER)
        begin = inputs["input_ids"].shape[1] if self.decoder_only else 1
        enforcer = nretm.Enforcer(rules, self.tokenizer, WRITING, max_new_tokens=room, num_beams=beams)
        pieces, words = enforcer.reader.token_bytes, Meant(enforcer.reader, len(self.tokenizer), MEANT)
        foreign = SuppressTokensLogitsProcessor([token for token in range(len(self.tokenizer))
                                                 if not (pieces[token] or b"").isascii()])  # but for what a rule needs
        ids = self.model.generate(**inputs, **enforcer.settings, pad_token_id=self.tokenizer.pad_token_id,
                                  logits_processor=[NoRepetition(REPEATED, begin), foreign, words, enforcer])
        return [[text.strip()] for text in enforcer.texts(ids)]

    @torch.no_grad()
    def obey(self, prompts: list[str], rules: list, room: int, **options) -> list[list[str]]:
        """The likeliest of several particles for each prompt with its rule enforced; options of Particles."""
        size = options["size"]
        inputs = self.read(prompts, size)
        enforcer = nretm.Enforcer(rules, self.tokenizer, WRITING, max_new_tokens=room)
        particles = Particles(rules, self.tokenizer, WRITING, **options)
        begin = inputs["input_ids"].shape[1] if self.decoder_only else 1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ids, means = particles.generate(self.model, enforcer, [NoRepetition(REPEATED, begin)], **inputs,
                                            pad_token_id=self.tokenizer.pad_token_id)
        drawn = list(zip(means, enforcer.texts(ids), strict=True))
        return [[max(drawn[i:i + size])[1].strip()] for i in range(0, len(drawn), size)]

    @torch.no_grad()
    def perplexity(self, text: str) -> float | None:
        """Of the text per token, under the model, after the same prompt for all texts, whatever was asked for."""
        inputs, ids = self.inputs([NEUTRAL]), self.tokenizer(text, add_special_tokens=False)["input_ids"]
        if not ids:
            return None
        target = torch.tensor([ids])
        if self.decoder_only:
            whole = torch.cat([inputs["input_ids"], target], dim=1)
            logits = self.judge(whole, logits_to_keep=len(ids) + 1).logits[0, :-1]
        else:
            logits = self.judge(**inputs, labels=target).logits[0]
        return math.exp(min(torch.nn.functional.cross_entropy(logits.float(), target[0]).item(), 50))


def _fast_bfloat16() -> bool:
    return torch.cpu.get_capabilities().get("avx512_bf16", False)


def room_for(instance: Instance, tokenizer) -> int:
    """How many tokens the text may have: more than the shortest that obeys, which is found without the model."""
    automaton = automaton_for(asked_of(instance), reader_for(tokenizer, WRITING))
    shortest = witnesses_for(automaton).length(automaton.start, LONGEST)
    if shortest is None:
        raise ValueError(f"no text of at most {LONGEST} tokens was found that obeys {asked_of(instance)}")
    spare = 20 + (PARAGRAPH * len(instance.targets[0]) if instance.kind == "c14" else 0)
    return max(ROOM[STRUCTURES[instance.kind][0]], int(1.25 * shortest) + spare)


def run(writer: Writer, instances: list[Instance], mode: str, path: Path, batch: int) -> None:
    """Write for all instances that the file does not have yet; what cannot be written is reported and left out."""
    done = {row["id"] for row in read_rows(path)}
    path.parent.mkdir(parents=True, exist_ok=True)
    kinds: dict[str, list[Instance]] = {}
    for instance in instances:
        if instance.id not in done:
            kinds.setdefault(instance.kind, []).append(instance)
    for kind, alike in kinds.items():
        for group, room in _groups(alike, writer.tokenizer, batch // _texts_at_once(kind, mode)):
            rows = _written(writer, group, room, mode)
            with path.open("a", encoding="utf-8") as file:
                file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
            done.update(row["id"] for row in rows)
            print(f"{mode}: {kind}, {len(done)} texts of {len(instances)}", flush=True)


def _texts_at_once(kind: str, mode: str) -> int:
    return {"plain": 1, "best-of-20": TRIALS, "enforced": (PARTICLES | BEAMS).get(kind, 1)}[mode]


def _groups(instances: list[Instance], tokenizer, most: int) -> Iterator[tuple[list[Instance], int]]:
    """Groups of at most so many instances that need about the same room, and that room."""
    rooms = {}
    for instance in instances:
        try:
            rooms[instance.id] = room_for(instance, tokenizer)
        except Exception as problem:  # an odd instance is no reason to stop
            _report(instance, problem)
    possible = sorted((i for i in instances if i.id in rooms), key=lambda i: rooms[i.id])
    while possible:
        count = sum(rooms[i.id] <= 1.5 * rooms[possible[0].id] for i in possible[:max(most, 1)])
        yield possible[:count], rooms[possible[count - 1].id]
        possible = possible[count:]


def _written(writer: Writer, group: list[Instance], room: int, mode: str) -> list[dict]:
    try:
        return _rows(writer, group, room, mode)
    except Exception as problem:
        if len(group) > 1:
            return [row for instance in group for row in _written(writer, [instance], room, mode)]
        _report(group[0], problem)
        return []


def _report(instance: Instance, problem: Exception) -> None:
    said = str(problem) if isinstance(problem, ValueError) else repr(problem)
    print(f"{instance.id} is left out: {said}", file=sys.stderr, flush=True)


def _rows(writer: Writer, group: list[Instance], room: int, mode: str) -> list[dict]:
    kind = group[0].kind
    torch.manual_seed(zlib.crc32(str(group[0].id).encode()))  # a run that was stopped goes on as if it had not been
    if mode == "enforced":
        prompts, rules = [prompt_of(instance) for instance in group], [asked_of(instance) for instance in group]
        if kind in BEAMS:
            found = writer.search(prompts, rules, room, BEAMS[kind])
        else:
            options = {"size": PARTICLES[kind] if room <= VERY_LONG else 1, "bonus": BONUS.get(kind, 0.0)}
            options |= {"meant": math.inf} if kind in ("c01", "c02", "c03") else {}  # there the word is all there is
            found = writer.obey(prompts, rules, room, **options)
    else:
        found = writer.write([instance.prompt for instance in group], room, _texts_at_once(kind, mode))
    rows = []
    for instance, texts in zip(group, found, strict=True):
        obeys = [bool(nretm.check(rule_of(instance), text, policy=WRITING)) for text in texts]
        best = texts[obeys.index(True)] if any(obeys) else texts[0]
        rows.append({"id": instance.id, "kind": kind, "text": best, "satisfied": any(obeys),
                     "perplexity": writer.perplexity(best)} | ({"trials": texts} if len(texts) > 1 else {}))
    return rows


def read_rows(path: Path) -> list[dict]:
    """What a run has written so far, without a last line that it did not finish."""
    lines = path.read_text(encoding="utf-8").split("\n") if path.exists() else [""]
    if lines[-1]:
        path.write_text("".join(f"{line}\n" for line in lines[:-1]), encoding="utf-8")
    return [json.loads(line) for line in lines[:-1]]


def by_structure(folder: str | Path) -> dict[str, dict[str, tuple[float, float | None]]]:
    """Mode -> structure -> percent satisfied by our checker, and the geometric mean of the perplexities."""
    found = {}
    for mode in MODES:
        kinds: dict[str, list[dict]] = {}
        for row in read_rows(Path(folder, f"{mode}.jsonl")):
            kinds.setdefault(row["kind"], []).append(row)
        for kind, rows in kinds.items():
            found.setdefault(mode, {})[kind] = (100 * sum(row["satisfied"] for row in rows) / len(rows),
                                                geometric_mean([row["perplexity"] for row in rows]))
    return found


def geometric_mean(values: Iterable[float | None]) -> float | None:
    """Of the values that there are."""
    logs = [math.log(value) for value in values if value]
    return math.exp(sum(logs) / len(logs)) if logs else None


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m reproduction collie", description=__doc__.split("\n\n")[0])
    parser.add_argument("--model", required=True, help="a folder with a model of transformers and its tokenizer")
    parser.add_argument("--instances", help="JSON lines with id, kind, targets and prompt; built-in ones if left out")
    parser.add_argument("--out", required=True, help="the folder of the outputs")
    parser.add_argument("--mode", choices=MODES, default="enforced", help="how the texts are written")
    parser.add_argument("--batch", type=int, default=128, help="texts that grow at the same time")
    parser.add_argument("--per-structure", type=int, help="only so many instances of each structure, evenly spread")
    parser.add_argument("--kinds", help="only these structures, such as c05,c07")
    arguments = parser.parse_args()
    instances = read_instances(arguments.instances, strict=False) if arguments.instances else builtin_instances()
    kinds = arguments.kinds.split(",") if arguments.kinds else list(dict.fromkeys(i.kind for i in instances))
    parts = [spread([i for i in instances if i.kind == kind], arguments.per_structure) for kind in kinds]
    run(Writer(arguments.model), [i for part in parts for i in part], arguments.mode,
        Path(arguments.out) / f"{arguments.mode}.jsonl", arguments.batch)


def spread(instances: list[Instance], count: int | None) -> list[Instance]:
    """So many of them, at even distances; all if count is None."""
    if count is None or count >= len(instances):
        return instances
    return [instances[int((n + 0.5) * len(instances) / count)] for n in range(count)]


if __name__ == "__main__":
    main()
