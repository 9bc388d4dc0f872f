"""Make the demo's base models: small, and pretrained on the built-in corpus by denoising, as T5 and mBART were.

    python -m nretm.pretrain t5-base            writes nretm/bases/t5-base; the same seed makes the same weights

A text is hidden in one of three ways and has to be restored whole. *Infilling* (BART, mBART): spans of words are
replaced by one mask each. *Fragments*: of the whole text only a few spans are left, in any order. *Numbered fragments*:
the same with T5's numbered masks, which tell by their number from which sentence a span comes. No rule is ever seen,
and no digit has to do with a sentence: that is left for the rules to teach.
"""
import argparse
import random
import tempfile
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

import nretm.data
from nretm.profile import BASES

SENTINELS = 6  # numbered masks in use: one for any span, and one for each sentence of a story
SHARD = "1900KB"  # files of a repository had better be small


@dataclass(frozen=True)
class Base:
    """A base model: its family and size, the tasks whose corpora it reads, and how long."""

    family: str
    tasks: tuple[str, ...]
    width: int
    layers: int
    steps: int
    batch: int = 32
    learning_rate: float = 2e-3


MODELS = {
    "t5-base": Base("t5", ("rocstories", "commongen"), width=128, layers=2, steps=3000),
    "t5-large": Base("t5", ("rocstories", "commongen"), width=192, layers=3, steps=400, learning_rate=1.5e-3),
    "mbart": Base("mbart", ("ted15",), width=128, layers=2, steps=400),
}


class Denoising(torch.utils.data.Dataset):
    """Hidden texts with the whole ones as labels; item i is a function of i and the seed."""

    def __init__(self, texts: list, masks: list[int], ends: set[int], size: int, seed: int):
        self.texts, self.masks, self.ends = texts, masks, ends  # texts: pairs of body and what stands behind it
        self.size, self.seed = size, seed

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, i: int) -> dict[str, list[int]]:
        rng = random.Random(f"{self.seed} {i}")
        body, end = rng.choice(self.texts)
        sentences = split(body, self.ends)
        if 1 < len(sentences) < len(self.masks) and rng.random() < 0.5:
            hidden = numbered(sentences, self.masks, rng) + end
        else:
            hidden = rng.choice((infill, fragments))(body, self.masks[0], rng) + end
        return {"input_ids": hidden, "attention_mask": [1] * len(hidden), "labels": body + end}


def infill(body: list[int], mask: int, rng: random.Random) -> list[int]:
    """Replace spans of about three tokens by one mask each, until 15 to 90 % of the tokens are gone."""
    gone, wanted = set(), len(body) * rng.uniform(0.15, 0.9)
    while len(gone) < wanted:
        length = min(len(body), 1 + int(rng.expovariate(1 / 3)))
        begin = rng.randrange(len(body) - length + 1)
        gone.update(range(begin, begin + length))
    return [mask if i in gone else token for i, token in enumerate(body) if i not in gone or i - 1 not in gone]


def fragments(body: list[int], mask: int, rng: random.Random) -> list[int]:
    """Leave two to six spans of one to four tokens, in any order, with a mask before each."""
    found = []
    for _ in range(rng.randint(2, 6)):
        length = min(len(body), rng.randint(1, 4))
        begin = rng.randrange(len(body) - length + 1)
        found += [mask, *body[begin:begin + length]]
    return found


def numbered(sentences: list[list[int]], masks: list[int], rng: random.Random) -> list[int]:
    """Leave a span of one to four tokens of some of the sentences, in any order, with the sentence's mask behind it."""
    found = []
    for k in rng.sample(range(len(sentences)), rng.randint(1, len(sentences))):
        length = min(len(sentences[k]), rng.randint(1, 4))
        begin = rng.randrange(len(sentences[k]) - length + 1)
        found += [*sentences[k][begin:begin + length], masks[k + 1]]
    return found


def split(body: list[int], ends: set[int]) -> list[list[int]]:
    """A text by sentences; `ends` are the tokens that end one."""
    sentences: list[list[int]] = [[]]
    for token in body:
        sentences[-1].append(token)
        if token in ends:
            sentences.append([])
    return [sentence for sentence in sentences if sentence]


def tokenizer_of(base: Base):
    return nretm.data.builtin_document_tokenizer() if base.family == "mbart" else nretm.data.builtin_tokenizer()


def new_model(base: Base, tokenizer) -> torch.nn.Module:
    d, size = base.width, len(tokenizer)
    if base.family == "t5":
        return T5ForConditionalGeneration(T5Config(
            vocab_size=size, d_model=d, d_kv=d // 4, num_heads=4, d_ff=4 * d, num_layers=base.layers, dropout_rate=0.0,
            pad_token_id=tokenizer.pad_token_id, eos_token_id=tokenizer.eos_token_id,
            decoder_start_token_id=tokenizer.pad_token_id))
    return MBartForConditionalGeneration(MBartConfig(
        vocab_size=size, d_model=d, encoder_layers=base.layers, decoder_layers=base.layers, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=4 * d, decoder_ffn_dim=4 * d, max_position_embeddings=512,
        scale_embedding=True, dropout=0.0, attention_dropout=0.0, pad_token_id=tokenizer.pad_token_id,
        bos_token_id=tokenizer.bos_token_id, eos_token_id=tokenizer.eos_token_id, forced_eos_token_id=None))


def corpus(base: Base, tokenizer) -> list[tuple[list[int], list[int]]]:
    """Token ids of every text, apart from the special tokens that stand behind it (mBART's tell the language)."""
    texts = []
    for task in base.tasks:
        for text in nretm.data.builtin_corpus(task):
            if base.family == "mbart":
                tokenizer.src_lang = "zh_CN" if any("\u4e00" <= sign <= "\u9fff" for sign in text) else "en_XX"
            ids = tokenizer(text).input_ids
            behind = 2 if base.family == "mbart" else 1
            texts.append((ids[:-behind], ids[-behind:]))
    return texts


def pretrain(name: str, folder: Path | None = None, seed: int = 0, steps: int | None = None) -> Path:
    """Train a base and write it, with its tokenizer, in half precision."""
    if name not in MODELS:
        raise ValueError(f"There is no base {name!r}: choose one of {', '.join(MODELS)}.")
    base, folder = MODELS[name], folder or BASES / name
    steps, tokenizer = steps or base.steps, tokenizer_of(base)
    set_seed(seed)
    model = new_model(base, tokenizer)
    texts = corpus(base, tokenizer)
    names = ["<mask>"] if base.family == "mbart" else [f"<extra_id_{k}>" for k in range(SENTINELS)]
    masks, ends = tokenizer.convert_tokens_to_ids(names), set(tokenizer.convert_tokens_to_ids([".", "!", "?"]))
    with tempfile.TemporaryDirectory() as work:
        trainer = Seq2SeqTrainer(
            model=model, train_dataset=Denoising(texts, masks, ends, steps * base.batch, seed),
            data_collator=DataCollatorForSeq2Seq(tokenizer, model),
            args=Seq2SeqTrainingArguments(
                output_dir=work, max_steps=steps, per_device_train_batch_size=base.batch, seed=seed, use_cpu=True,
                learning_rate=base.learning_rate, lr_scheduler_type="linear", warmup_steps=min(200, steps // 5),
                adam_beta2=0.98, save_strategy="no", logging_steps=max(1, min(100, steps // 4)), report_to="none",
                dataloader_pin_memory=False))
        trainer.train()
    if base.family == "mbart":
        tokenizer.src_lang = "zh_CN"
    model.config.use_cache = True  # the Trainer switched it off
    model.half().save_pretrained(folder, max_shard_size=SHARD)
    tokenizer.save_pretrained(folder)
    return folder


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m nretm.pretrain", description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=list(MODELS))
    parser.add_argument("--out", type=Path, help="another folder than nretm/bases/NAME")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, help="instead of those that the shipped base was trained for")
    asked = parser.parse_args()
    print(f"written: {pretrain(asked.name, asked.out, asked.seed, asked.steps)}")


if __name__ == "__main__":
    main()
