"""`python -m reproduction bench enforcement`: what the guarantee costs, beside the same generation without it.

Random weights of T5-Base's shape with a vocabulary of 32,000, equipped, eight rows with five beams: the soft step, with
rules tracked, against the same step enforced; and with `--causal DIR` a decoder-only model of one's own, plain and
enforced. Times are of the processor, not of the wall, so that other work on the machine counts for nothing.
With `--causal` and llguidance or outlines-core installed, two rules that a regular expression can say as well are set
beside them: microseconds per mask, and milliseconds to compile.
"""

import argparse
import random
import statistics
import time
import warnings

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, LogitsProcessor

import nretm
from reproduction.bench.model import Bench, Script, story

R1 = "InSen(grocery trip, 2) & InSen(waiting line, 4) & Len(2, 9) & Len(4, 12)"
R3 = ("(Len(2, 9) || StopWordCount(2, 4)) & (Len(4, 12) || StopWordCount(4, 5)) & InSen(grocery trip, 2) & "
      "InSen(waiting line, 4)")
NINE = r"([A-Za-z]+ ){8}[A-Za-z]+"  # exactly nine words
BOTH = r"([A-Za-z]+ )*(rain ([A-Za-z]+ )*umbrella|umbrella ([A-Za-z]+ )*rain)( [A-Za-z]+)*"  # contains both words


def seconds(work, **arguments) -> float:
    start = time.process_time()
    work(**arguments)
    return time.process_time() - start


def soft_and_enforced(small: bool, tokens: int) -> None:
    bench = Bench.build(small, 1)
    rows = [story(bench.tok, 96, 48) for _ in range(2 if small else 8)]
    for name, rule in (("R1", R1), ("R3", R3)):
        batch = bench.tok([rule] * len(rows), return_tensors="pt", padding=True)
        inputs = {key: batch[key].to(bench.device) for key in ("input_ids", "attention_mask")}
        script = Script(bench.tok, tokens, bench.plain.config.vocab_size, bench.device)
        common = inputs | dict(rules=[rule] * len(rows), max_new_tokens=tokens, num_beams=5, logits_processor=[script])

        bench.ours.eval().generate(**common)  # warms up
        soft = seconds(bench.ours.generate, **common)
        enforced = seconds(bench.ours.generate, enforce=True, **common)
        print(f"T5-Base's shape, {name}: {1000 * soft / tokens:.0f} ms per soft step, {1000 * enforced / tokens:.0f} "
              f"enforced, {enforced / soft:.2f} times", flush=True)


class Timed(LogitsProcessor):
    """Another processor, and the time that it takes."""

    def __init__(self, inner):
        self.inner, self.taken = inner, []

    def __call__(self, input_ids, scores):
        start = time.thread_time()
        scores = self.inner(input_ids, scores)
        self.taken.append(time.thread_time() - start)
        return scores


def causal(folder: str, tokens: int) -> None:
    model, tok = AutoModelForCausalLM.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    tok.pad_token = tok.pad_token or tok.eos_token
    inputs = tok(["A short story of a few sentences. "] * 8, return_tensors="pt")
    for name, rule in (("R1", R1), ("R3", R3)):
        enforcer = nretm.Enforcer([rule] * 8, tok, max_new_tokens=tokens)
        common = inputs | enforcer.settings | {"pad_token_id": tok.pad_token_id}
        model.generate(**common)
        free = seconds(model.generate, **common)
        held = seconds(model.generate, logits_processor=[enforcer], **common)
        print(f"decoder-only, {name}, greedy, 8 rows: {1000 * free / tokens:.0f} ms per free step, "
              f"{1000 * held / tokens:.0f} enforced, {held / free:.2f} times", flush=True)
    beside(tok, tokens)


def beside(tok, tokens: int) -> None:
    """Masks of our enforcer and of the peers, along the same random texts of plain words."""
    rules = {"exactly nine words": ("Len(1, 9)", NINE), "contains both words": ("Copy(rain) & Copy(umbrella)", BOTH)}
    words = [f" {word}" for word in "the old man went home with his dog and a bag of red apples".split()]
    numbers, scores = random.Random(0), torch.randn(1, len(tok), generator=torch.Generator().manual_seed(0))
    for name, (rule, pattern) in rules.items():
        start = time.thread_time()
        enforcer = Timed(nretm.Enforcer([rule], tok, nretm.Policy(words="ifeval"), max_new_tokens=tokens))
        compiled = time.thread_time() - start
        for _ in range(20):
            ids = torch.zeros(1, 1, dtype=torch.long)
            for _ in range(8):
                enforcer(ids, scores[:, numbers.sample(range(len(tok)), len(tok))])
                word = tok(numbers.choice(words), add_special_tokens=False)["input_ids"]
                ids = torch.cat([ids, torch.tensor([word[:1]])], dim=1)
        taken = 1e6 * statistics.median(enforcer.taken)
        print(f"{name}: ours {1000 * compiled:.1f} ms to compile, {taken:.0f} µs per step of one row", flush=True)
        for peer in (_llguidance, _outlines):
            try:
                print(f"{name}: {peer(tok, pattern, words)}", flush=True)
            except ImportError as error:
                print(f"{name}: {error.name} is not installed")


def _llguidance(tok, pattern: str, words: list[str]) -> str:
    import llguidance.hf
    import llguidance.torch as masks

    vocabulary = llguidance.hf.from_tokenizer(tok)
    start = time.thread_time()
    grammar = llguidance.LLMatcher.grammar_from_regex(pattern)
    matcher = llguidance.LLMatcher(vocabulary, grammar)
    compiled, taken, bits = time.thread_time() - start, [], masks.allocate_token_bitmask(1, len(tok))
    for _ in range(20):
        matcher.reset()
        for n in range(8):
            start = time.thread_time()
            masks.fill_next_token_bitmask(matcher, bits)
            taken.append(time.thread_time() - start)
            matcher.consume_tokens(tok(words[n].lstrip() if not n else words[n], add_special_tokens=False)["input_ids"])
    return f"llguidance {1000 * compiled:.1f} ms to compile, {1e6 * statistics.median(taken):.0f} µs per mask"


def _outlines(tok, pattern: str, words: list[str]) -> str:
    import outlines_core

    pieces = nretm.tracking.TokenBytes(tok)
    vocabulary: dict[bytes, list[int]] = {}
    for token_id in range(len(tok)):
        if piece := pieces[token_id]:
            vocabulary.setdefault(piece, []).append(token_id)
    start = time.thread_time()
    index = outlines_core.Index(pattern, outlines_core.Vocabulary(tok.eos_token_id, vocabulary))
    compiled, taken = time.thread_time() - start, []
    for _ in range(20):
        guide = outlines_core.Guide(index)
        for n in range(8):
            start = time.thread_time()
            guide.get_tokens()
            taken.append(time.thread_time() - start)
            for token in tok(words[n].lstrip() if not n else words[n], add_special_tokens=False)["input_ids"]:
                guide.advance(token)
    return f"outlines-core {1000 * compiled:.1f} ms to compile, {1e6 * statistics.median(taken):.0f} µs per mask"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m reproduction bench enforcement", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="a model of two layers, to try the benchmark itself")
    parser.add_argument("--tokens", type=int, default=32, help="tokens to generate (default: 32)")
    parser.add_argument("--causal", metavar="DIR", help="a decoder-only model with its tokenizer")
    given = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore", nretm.RuleBroken)
    if given.causal:
        causal(given.causal, given.tokens)
    else:
        soft_and_enforced(given.small, given.tokens)


if __name__ == "__main__":
    main()
