"""Make our own base models: small, and pretrained by denoising, as T5 and mBART were.

    python -m reproduction pretrain t5-base              of the demo: writes reproduction/bases/t5-base
    python -m reproduction pretrain mini-t5 --data DIR   of real text: writes work/bases/mini-t5, which is not committed

The same seed makes the same weights.

A text is hidden in one of three ways and has to be restored whole. *Infilling* (BART, mBART): spans of words are
replaced by one mask each. *Fragments*: of the whole text only a few spans are left, in any order. *Numbered sentences*,
for stories: BART's sentence permutation, where T5's numbered masks tell which sentence is which, and less and less of
each sentence is left. No rule is ever seen, and no digit has to do with a sentence: the rules have to teach that.

What made a model of a million parameters learn to copy, to count its sentences and to look up a number in minutes:
easy before hard (short texts with little hidden come first), and a start for T5's position biases. They begin near zero
and move by the learning rate at most, so that "the token before" would take thousands of steps to stand out.
"""
import argparse
import dataclasses
import hashlib
import itertools
import json
import random
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import torch
from transformers import (
    DataCollatorForSeq2Seq,
    MBartConfig,
    MBartForConditionalGeneration,
    Seq2SeqTrainer,
    Seq2SeqTrainingArguments,
    T5Config,
    T5ForConditionalGeneration,
    set_seed,
)

import reproduction.data
from reproduction import starts
from reproduction.checkpoints import last_checkpoint
from reproduction.data.learned_tokens import learned_tokenizer
from reproduction.files import BASES_FOLDER, MADE_BASES_FOLDER, write_whole
from reproduction.rates import adamw
from reproduction.report import run_files

SENTINELS = 6  # numbered masks in use: one for any span, and one for each sentence of a story
POSITION_RATE = 5.0  # T5's position biases learn so many times faster than the rest
SAVE_STEPS = 500  # a checkpoint that often
SHARD = "1900KB"  # files of a repository had better be small


@dataclass(frozen=True)
class Base:
    """A base model: its family and size, the tasks whose corpora it reads with their shares, and how long."""

    family: str
    tasks: dict[str, float]
    width: int
    layers: int
    steps: int
    batch: int = 32
    learning_rate: float = 2e-3
    pieces: int | None = None  # learn a tokenizer of so many pieces from the text; None: the built-in one
    alike: bool = False  # texts of about one length to a batch
    precision: str = "fp32"  # or "bf16"
    query_rate: float = 1.0  # queries learn so many times as fast as the rest
    copying: bool = False  # begin with a cross-attention that copies
    counting: bool = False  # begin with a decoder that counts its sentences and looks up what stands by a number


MODELS = {
    "t5-base": Base("t5", {"rocstories": 0.8, "commongen": 0.2}, width=128, layers=2, steps=6000),
    "t5-large": Base("t5", {"commongen": 1.0}, width=192, layers=3, steps=1500, learning_rate=1.5e-3),
    "mbart": Base("mbart", {"ted15": 1.0}, width=128, layers=2, steps=1200, batch=16),
    "mini-t5": Base("t5", {"rocstories": 0.8, "commongen": 0.2}, width=256, layers=2, steps=3000, learning_rate=1.5e-3,
                    pieces=5000, alike=True, precision="bf16", query_rate=1 / 8, copying=True, counting=True),
}

TokenizedText = tuple[list[int], list[int]]  # token ids of a text, and the special tokens that stand after it


class Denoising(torch.utils.data.Dataset):
    """Hidden texts with the whole ones as labels; item i is a function of i and the seed, and the harder the higher."""

    def __init__(self, corpora: dict[str, list[TokenizedText]], shares: dict[str, float], tokenizer, size: int,
                 seed: int, alike: int = 1):
        self.corpora = {task: sorted(texts, key=lambda text: len(text[0])) for task, texts in corpora.items()}
        self.shares, self.size, self.seed, self.alike = shares, size, seed, alike
        self.masks, ends = marks(tokenizer)
        self.ends = set(ends)
        self.lower = lower_case(tokenizer)

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, i: int) -> dict[str, list[int]]:
        rng, progress = random.Random(f"{self.seed} {i}"), i / self.size
        shared = rng if self.alike == 1 else random.Random(f"{self.seed} batch {i // self.alike}")
        task = shared.choices(list(self.shares), list(self.shares.values()))[0]
        reach = int(len(self.corpora[task]) * min(1.0, 0.05 + 2 * progress))  # the shortest first
        place = shared.randrange(reach)
        if self.alike > 1:
            place = rng.randrange(max(0, place - reach // 100), min(reach, place + reach // 100 + 1))
        body, end = self.corpora[task][place]
        sentences = split(body, self.ends)
        numbered_share, ways = WAYS[task]
        if numbered_share and shared.random() < numbered_share and len(sentences) < len(self.masks):
            hardness = shared.random() * min(0.9, 1.6 * progress)
            hidden = numbered(sentences, self.masks, hardness, rng)
            if rng.random() < 0.5:  # as storylines are
                hidden = [small for token in hidden for small in self.lower[token]]
        else:
            way = shared.choice(ways) if len(ways) > 1 else ways[0]
            hidden = way(body, self.masks[0], rng)
        return {"input_ids": hidden + end, "attention_mask": [1] * len(hidden + end), "labels": body + end}


def infill(body: list[int], mask: int, rng: random.Random) -> list[int]:
    """Replace spans of about three tokens by one mask each, until 15 to 90 % of the tokens are gone."""
    gone = _spans(len(body), rng.uniform(0.15, 0.9), 3, rng)
    return [mask if i in gone else token for i, token in enumerate(body) if i not in gone or i - 1 not in gone]


def fragments(body: list[int], mask: int, rng: random.Random) -> list[int]:
    """Leave two to six spans of one to four tokens, in any order, with a mask before each."""
    found = []
    for _ in range(rng.randint(2, 6)):
        found += [mask, *_span(body, 4, rng)]
    return found


def numbered(sentences: list[list[int]], masks: list[int], hardness: float, rng: random.Random) -> list[int]:
    """Sentences in any order, each with its numbered mask after it.

    The hardness, from 0 to 1, is how probable it is that some sentences are left out and that one to three tokens are
    left of each; else it is the most that a sentence loses.
    """
    some = rng.randint(1, len(sentences)) if rng.random() < hardness else len(sentences)
    short, found = rng.random() < hardness, []
    for k in rng.sample(range(len(sentences)), some):
        gone = _spans(len(sentences[k]), min(0.9, 1.5 * hardness * rng.random()), 2, rng)
        left = [token for i, token in enumerate(sentences[k]) if i not in gone]
        found += [*(_span(sentences[k][:-1], 3, rng) if short else left), masks[k + 1]]
    return found


# how the texts of a task are hidden: the share with numbered sentences, and the ways for the rest
WAYS = {"rocstories": (0.75, (infill, fragments)), "commongen": (0, (infill, fragments)), "ted15": (0, (infill,))}


def _span(tokens: list[int], longest: int, rng: random.Random) -> list[int]:
    length = min(len(tokens), rng.randint(1, longest))
    begin = rng.randrange(len(tokens) - length + 1)
    return tokens[begin:begin + length]


def _spans(size: int, share: float, mean: float, rng: random.Random) -> set[int]:
    """Positions of random spans, until they make up the share."""
    gone: set[int] = set()
    while len(gone) < round(size * share):
        begin = rng.randrange(size)
        gone.update(range(begin, min(size, begin + 1 + int(rng.expovariate(1 / mean)))))
    return gone


def split(body: list[int], ends: set[int]) -> list[list[int]]:
    """A text by sentences; `ends` are the tokens that end one."""
    sentences: list[list[int]] = [[]]
    for token in body:
        sentences[-1].append(token)
        if token in ends:
            sentences.append([])
    return [sentence for sentence in sentences if sentence]


def lower_case(tokenizer) -> dict[int, list[int]]:
    """Each piece in lower case, by ids; a name, which has no such piece, becomes several: `Rick` is `r` and `ick`."""
    ids, found = tokenizer.get_vocab(), {}
    for piece, number in ids.items():
        found[number] = [ids.get(piece.lower(), number)]
        if piece.lower() not in ids and piece.startswith("▁"):
            found[number] = tokenizer(piece[1:].lower(), add_special_tokens=False).input_ids
    return found


def marks(tokenizer) -> tuple[list[int], list[int]]:
    """The ids of the masks, numbered or not, and of what ends a sentence."""
    masks = ["<mask>"] if "<mask>" in tokenizer.get_vocab() else [f"<extra_id_{k}>" for k in range(SENTINELS)]
    return tokenizer.convert_tokens_to_ids(masks), tokenizer.convert_tokens_to_ids([".", "!", "?"])


def tokenizer_of(base: Base, texts: dict[str, list[str]]):
    if base.pieces:
        return learned_tokenizer(itertools.chain.from_iterable(texts.values()), base.pieces)
    data = reproduction.data
    return data.builtin_document_tokenizer() if base.family == "mbart" else data.builtin_tokenizer()


def new_model(base: Base, tokenizer) -> torch.nn.Module:
    d, size = base.width, len(tokenizer)
    if base.family == "t5":
        model = T5ForConditionalGeneration(T5Config(
            vocab_size=size, d_model=d, d_kv=d // 4, num_heads=4, d_ff=4 * d, num_layers=base.layers, dropout_rate=0.0,
            pad_token_id=tokenizer.pad_token_id, eos_token_id=tokenizer.eos_token_id,
            decoder_start_token_id=tokenizer.pad_token_id))
        starts.start_positions(model)
        if base.copying:
            starts.start_copying(model)
        if base.counting:
            starts.start_counting(model, *marks(tokenizer))
        return model
    return MBartForConditionalGeneration(MBartConfig(
        vocab_size=size, d_model=d, encoder_layers=base.layers, decoder_layers=base.layers, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=4 * d, decoder_ffn_dim=4 * d, max_position_embeddings=512,
        scale_embedding=True, dropout=0.0, attention_dropout=0.0, pad_token_id=tokenizer.pad_token_id,
        bos_token_id=tokenizer.bos_token_id, eos_token_id=tokenizer.eos_token_id, forced_eos_token_id=None))


def corpus(texts: Iterable[str], family: str, tokenizer) -> list[TokenizedText]:
    """Texts in token ids, apart from the special tokens after them (mBART's name the language)."""
    found = []
    for text in texts:
        if family == "mbart":
            tokenizer.src_lang = "zh_CN" if any("\u4e00" <= sign <= "\u9fff" for sign in text) else "en_XX"
        ids = tokenizer(text).input_ids
        behind = 2 if family == "mbart" else 1
        found.append((ids[:-behind], ids[-behind:]))
    return found


def optimizer(model: torch.nn.Module, base: Base) -> torch.optim.Optimizer:
    """AdamW with rates of their own for T5's position biases and queries.

    T5 does not divide its attention scores by the root of the heads' size, 8 here. Its queries are that much smaller
    instead, and at the rate of the rest a step would change the scores 8 times as much as in other models.
    """
    def factor(name: str) -> float:
        return {"q": base.query_rate, "relative_attention_bias": POSITION_RATE}.get(name.split(".")[-2], 1.0)

    return adamw(model, base.learning_rate, factor, beta2=0.98)


def pretrain(name: str, folder: Path | None = None, seed: int = 0, steps: int | None = None,
             data: str = "builtin") -> Path:
    """Train a base and write it, with its tokenizer, in half precision, and in base.json how it was made.

    Checkpoints are kept until it is done: the same command continues where it stopped, with the same texts to come.
    """
    if name not in MODELS:
        raise ValueError(f"There is no base {name!r}: choose one of {', '.join(MODELS)}.")
    base = MODELS[name]
    if base.pieces and data == "builtin":
        raise ValueError(f"{name} is made from real text: give its folder by --data DIR.")
    if data != "builtin" and not base.pieces:
        raise ValueError(f"{name} is made from the built-in texts: leave out --data.")
    folder, steps = folder or (MADE_BASES_FOLDER if base.pieces else BASES_FOLDER) / name, steps or base.steps
    texts = {task: reproduction.data.corpus(task, data) for task in base.tasks}
    tokenizer = tokenizer_of(base, texts)
    set_seed(seed)
    model = new_model(base, tokenizer)
    corpora = {task: corpus(texts[task], base.family, tokenizer) for task in base.tasks}
    made_from = digest(texts, f"{base} {steps} {seed}")
    work = MADE_BASES_FOLDER / f"{name}-{made_from}"
    trainer = Seq2SeqTrainer(
        model=model, data_collator=DataCollatorForSeq2Seq(tokenizer, model),
        train_dataset=Denoising(corpora, base.tasks, tokenizer, steps * base.batch, seed,
                                base.batch if base.alike else 1),
        args=Seq2SeqTrainingArguments(
            output_dir=work, max_steps=steps, per_device_train_batch_size=base.batch, seed=seed, use_cpu=True,
            learning_rate=base.learning_rate, lr_scheduler_type="linear", warmup_steps=min(200, steps // 5),
            bf16=base.precision == "bf16", train_sampling_strategy="sequential",
            logging_steps=max(1, min(100, steps // 4)), save_steps=SAVE_STEPS, save_total_limit=1, report_to="none",
            dataloader_pin_memory=False),
        optimizers=(optimizer(model, base), None))
    last = last_checkpoint(work)
    outcome = trainer.train(resume_from_checkpoint=str(last) if last else None)
    if base.family == "mbart":
        tokenizer.src_lang = "zh_CN"
    model.config.use_cache = True  # the Trainer switched it off
    model.half().save_pretrained(folder, max_shard_size=SHARD)
    tokenizer.save_pretrained(folder)
    losses = [(entry["step"], round(entry["loss"], 4)) for entry in trainer.state.log_history if "loss" in entry]
    source = "" if data == "builtin" else " --data DIR"
    record = {"command": f"python -m reproduction pretrain {name} --seed {seed} --steps {steps}{source}",
              "base": dataclasses.asdict(base), "seed": seed, "steps": steps, "parameters": model.num_parameters(),
              "corpus": digest(texts), "loss": losses[-1][1], "losses": losses,
              "seconds": round(outcome.metrics["train_runtime"])} | run_files.surroundings()
    write_whole(folder / "base.json", json.dumps(record, indent=1) + "\n")
    shutil.rmtree(work)
    return folder


def made(name: str, data: str = "builtin", seed: int = 0) -> Path:
    """The folder of a base: it is made only if it is not there from the same texts with the same settings."""
    base = MODELS[name]
    folder = (MADE_BASES_FOLDER if base.pieces else BASES_FOLDER) / name
    if (folder / "base.json").is_file():
        record = json.loads((folder / "base.json").read_text(encoding="utf-8"))
        corpus_now = digest({task: reproduction.data.corpus(task, data) for task in base.tasks})
        if (Base(**record["base"]), record["seed"], record["steps"], record["corpus"]) == (
                base, seed, base.steps, corpus_now):
            return folder
    return pretrain(name, seed=seed, data=data)


def digest(texts: dict[str, list[str]], more: str = "") -> str:
    """A hash of the texts that a base is trained on: another one means that the base has to be made again."""
    return hashlib.sha256(("\n".join(itertools.chain.from_iterable(texts.values())) + more).encode()).hexdigest()[:16]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m reproduction pretrain", description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=list(MODELS), help="which base model to make")
    parser.add_argument("--data", default="builtin", metavar="DIR",
                        help="the folder of real text that a mini base is made from")
    parser.add_argument("--out", type=Path, metavar="DIR",
                        help="where to write it (default: reproduction/bases/NAME or work/bases/NAME)")
    parser.add_argument("--seed", type=int, default=0, metavar="N",
                        help="of weights, texts and their order; the shipped bases have 0 (the default)")
    parser.add_argument("--steps", type=int, metavar="N",
                        help="optimizer steps (default: as many as the shipped base was trained for)")
    arguments = parser.parse_args()
    try:
        folder = pretrain(arguments.name, arguments.out, arguments.seed, arguments.steps, arguments.data)
    except ValueError as error:
        raise SystemExit(f"pretrain: {error}") from error
    print(f"written: {folder}")


if __name__ == "__main__":
    main()
