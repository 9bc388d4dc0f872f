"""`python -m reproduction bench model`: what NRETM costs beside the plain model and beside the paper's equations taken
literally, all measured in one run, turn by turn, on random weights of T5-Base's shape.

A training step is collating, forward, backward and AdamW, dropout on, nothing frozen. Times are of the wall; a ratio is
the median over rounds of the ratio within a round, with the lowest and the highest. Peak memory is what a step has
allocated at most beyond weights and optimizer state: from the allocations that torch's profiler records on a CPU, from
torch.cuda on a GPU. The tracker's share is the time in Session's host code: setting up, stepping and judging.
"""

import argparse
import random
import statistics
import time
import warnings
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import accumulate

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from torch.profiler import ProfilerActivity, profile
from transformers import LogitsProcessor, PreTrainedTokenizerFast, T5Config, T5ForConditionalGeneration

import nretm
from nretm.modeling import RuleBroken, Session
from reproduction.bench.literal import literal
from reproduction.bench.tracker import R3

BASE = dict(d_model=768, d_kv=64, d_ff=3072, num_layers=12, num_heads=12)
SMALL = dict(d_model=64, d_kv=16, d_ff=128, num_layers=2, num_heads=4)
SIZES = {False: (8, 64, 512, 64), True: (2, 64, 256, 12)}  # small or not: batch, length, long text, tokens generated
SEPARATOR, SENTENCES = "<sep>", 16  # of a document
FILLERS = [f"word{i}" for i in range(32_000)]


def tokenizer() -> PreTrainedTokenizerFast:
    """A vocabulary of T5's size in which a word is a token, so that lengths can be made to measure."""
    cut = pre_tokenizers.Whitespace()
    texts = [R3, document_rule(), " ".join(FILLERS), ". " + " ".join(map(str, range(-9, 40))), "N"]
    words = dict.fromkeys(word for text in texts for word, _ in cut.pre_tokenize_str(text))
    vocabulary = {word: i for i, word in enumerate(["<pad>", "</s>", "<unk>", SEPARATOR, *words])}
    backend = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    backend.pre_tokenizer = cut
    backend.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    return PreTrainedTokenizerFast(tokenizer_object=backend, pad_token="<pad>", eos_token="</s>", unk_token="<unk>",
                                   extra_special_tokens=[SEPARATOR])


def document_rule() -> str:
    return " & ".join(f"translateOnce({i})" for i in range(1, SENTENCES + 1))


def filler(count: int) -> str:
    return " ".join(random.choices(FILLERS, k=count))


def story(tok, source: int, target: int) -> dict:
    """A row of rule R3 whose source and target have these numbers of tokens, their ends included."""
    second, fourth = f"{filler(6)} grocery trip .", f"{filler(9)} waiting line ."
    text = f"{filler(10)} . {second} {filler(9)} . {fourth}"
    return {"rule": R3, "source": filler(source - len(tok(R3)["input_ids"])) + " ",
            "target": f"{text} {filler(target - len(tok(text)['input_ids']) - 1)} ."}


def document(tok, source: int, target: int) -> dict:
    """A row of the translation task: sixteen sentences, each followed by the separator."""
    def sentences(count: int) -> str:
        sizes = [count // SENTENCES - 1] * SENTENCES
        sizes[-1] += count % SENTENCES
        return "".join(f"{filler(size)} {SEPARATOR} " for size in sizes)
    rule = document_rule()
    return {"rule": rule, "source": sentences(source - len(tok(rule)["input_ids"])), "target": sentences(target - 1)}


class Script(LogitsProcessor):
    """Makes random weights write sentences of ten tokens, the plain model and ours alike; no two beams the same."""

    def __init__(self, tok, steps: int, vocabulary: int, device: torch.device):
        generator = torch.Generator().manual_seed(0)
        self.wishes = 100.0 * torch.randn(steps, vocabulary, generator=generator).to(device)  # (T, V)
        self.wishes[9::10, tok.convert_tokens_to_ids(".")] = 10_000.0

    def __call__(self, input_ids, scores):
        return scores + self.wishes[input_ids.shape[1] - 1]


@dataclass
class Bench:
    """The plain model and the equipped one; they share their weights."""

    plain: torch.nn.Module
    ours: torch.nn.Module
    tok: PreTrainedTokenizerFast
    device: torch.device
    rounds: int

    @classmethod
    def build(cls, small: bool, rounds: int) -> "Bench":
        torch.manual_seed(0)
        random.seed(0)
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        config = T5Config(vocab_size=32_128, decoder_start_token_id=0, **SMALL if small else BASE)
        plain = T5ForConditionalGeneration(config).to(device)
        with torch.device("meta"):
            ours = T5ForConditionalGeneration(config)
        ours.load_state_dict(plain.state_dict(keep_vars=True), assign=True)
        ours.tie_weights()
        tok = tokenizer()
        bench = cls(plain, nretm.equip(ours, tok), tok, device, rounds)
        for parameter in (*ours.nretm.key.parameters(), *ours.nretm.value.parameters()):
            torch.nn.init.normal_(parameter, std=0.05)
        bench.optimizer = torch.optim.AdamW(ours.parameters(), lr=1e-6)
        return bench

    def steps(self, rows: list[dict], policy: nretm.Policy) -> dict:
        """One training step of each kind."""
        self.ours.nretm.options = replace(self.ours.nretm.options, policy=policy)
        plain, ours = nretm.Collator(self.plain, self.tok), nretm.Collator(self.ours)

        def step(model, collate):
            model.train()
            batch = {name: x.to(self.device) for name, x in collate(rows).items() if name != "rules"}
            model(**batch).loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()

        def literally():
            with literal(self.ours):
                step(self.ours, ours)

        return {"plain": lambda: step(self.plain, plain), "nretm": lambda: step(self.ours, ours), "literal": literally}

    def generation(self, rows: list[dict], tokens: int, **search) -> dict:
        self.ours.nretm.options = replace(self.ours.nretm.options, policy=nretm.Policy())
        batch = nretm.Collator(self.plain, self.tok)(rows)
        inputs = {name: batch[name].to(self.device) for name in ("input_ids", "attention_mask")}
        script = [Script(self.tok, tokens, self.plain.config.vocab_size, self.device)]
        common = inputs | search | {"max_new_tokens": tokens, "min_new_tokens": tokens, "logits_processor": script}
        rules = [row["rule"] for row in rows]

        def run(model, **more):
            model.eval()
            assert model.generate(**common, **more).shape[1] == tokens + 1

        return {"plain": lambda: run(self.plain), "nretm": lambda: run(self.ours, rules=rules)}

    def times(self, variants: dict) -> dict[str, list[float]]:
        """Seconds of each variant, in turns; the first turn warms up."""
        taken = {name: [] for name in variants}
        for round_ in range(1 + self.rounds):
            for name, run in variants.items():
                begin = self.now()
                run()
                if round_:
                    taken[name].append(self.now() - begin)
        return taken

    def now(self) -> float:
        if self.device.type == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter()

    def peak(self, run) -> int:
        """Bytes."""
        if self.device.type == "cuda":
            torch.cuda.reset_peak_memory_stats()
            before = torch.cuda.memory_allocated()
            run()
            return torch.cuda.max_memory_allocated() - before
        with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as recorded:
            run()
        events = [e for e in recorded.profiler.kineto_results.events() if e.name() == "[memory]"]
        return max(accumulate(e.nbytes() for e in sorted(events, key=lambda e: e.start_ns())))


@contextmanager
def tracker_time(now: Callable[[], float], spent: list[float]):
    """Collects the seconds that generation spends in the tracker; `now` waits for the device first."""
    originals = {name: getattr(Session, name) for name in ("__init__", "flags", "verdicts")}

    def timed(method):
        def call(*args, **kwargs):
            begin = now()
            try:
                return method(*args, **kwargs)
            finally:
                spent.append(now() - begin)
        return call

    for name, method in originals.items():
        setattr(Session, name, timed(method))
    try:
        yield
    finally:
        for name, method in originals.items():
            setattr(Session, name, method)


def ratio(times: dict[str, list[float]], name: str) -> str:
    each = [a / b for a, b in zip(times[name], times["plain"], strict=True)]
    return f"{statistics.median(each):.2f} ({min(each):.2f}-{max(each):.2f})"


def measure(bench: Bench, batch: int, length: int, long: int, tokens: int):
    """The rows of the table: what, target, plain, ratio of NRETM, and what else there is to say."""
    stories = [story(bench.tok, length, length) for _ in range(batch)]
    documents = [document(bench.tok, long, long)]
    steps = bench.steps(stories, nretm.Policy())
    times = bench.times(steps)
    yield (f"training step, batch {batch}, source {length}, target {length}", 1.10,
           f"{statistics.median(times['plain']):.2f} s", ratio(times, "nretm"), f"literal {ratio(times, 'literal')}")
    peaks = {name: bench.peak(run) for name, run in steps.items()}
    yield ("peak memory of that step", 1.10, f"{peaks['plain'] / 2**20:.0f} MiB",
           f"{peaks['nretm'] / peaks['plain']:.2f}", f"literal {peaks['literal'] / peaks['plain']:.2f}")
    steps = bench.steps(documents, nretm.Policy(separator=SEPARATOR))
    times, peaks = bench.times(steps), {name: bench.peak(run) for name, run in steps.items()}
    yield (f"training step, batch 1, source {long}, target {long}", 1.15, f"{statistics.median(times['plain']):.2f} s",
           ratio(times, "nretm"), f"literal {ratio(times, 'literal')}; memory {peaks['nretm'] / peaks['plain']:.2f}, "
           f"literal {peaks['literal'] / peaks['plain']:.2f}")
    for what, search in {"greedy": {"num_beams": 1}, "beam 5": {"num_beams": 5}}.items():
        spent: list[float] = []
        variants = bench.generation(stories, tokens, **search)
        with tracker_time(bench.now, spent), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuleBroken)
            times = bench.times(variants)
        share = sum(spent) / (1 + bench.rounds) / statistics.median(times["nretm"])
        yield (f"generate, batch {batch}, {what}, {tokens} tokens, rule R3", 1.15,
               f"{statistics.median(times['plain']):.2f} s", ratio(times, "nretm"), f"tracker {100 * share:.1f} %")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m reproduction bench model", description="What NRETM costs "
                                     "beside the plain model and beside the paper's equations as they stand.")
    parser.add_argument("--rounds", type=int, default=5, metavar="N",
                        help="rounds that are measured, after one that warms up (default: 5)")
    parser.add_argument("--small", action="store_true", help="a tiny model and short texts, to see that it runs")
    options = parser.parse_args()
    bench = Bench.build(options.small, options.rounds)
    where = torch.cuda.get_device_name() if bench.device.type == "cuda" else f"CPU, {torch.get_num_threads()} threads"
    print(f"{nretm.modeling.count(bench.ours)}\n{where}, torch {torch.__version__}, {options.rounds} rounds\n")
    print(f"{'what':<52}{'plain':>10}  {'NRETM':<18}{'target':<9}also")
    for what, target, plain, ours, also in measure(bench, *SIZES[options.small]):
        print(f"{what:<52}{plain:>10}  {ours:<18}{f'≤ {target:.2f}':<9}{also}", flush=True)
