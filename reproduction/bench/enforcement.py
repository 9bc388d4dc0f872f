"""`python -m reproduction bench enforcement`: what the guarantee costs, beside the same generation without it.

Random weights of T5-Base's shape with a vocabulary of 32,000, equipped, eight rows with five beams: the soft step, with
rules tracked, against the same step enforced. With `--causal DIR` a decoder-only model of one's own instead, plain and
enforced; the step of its enforcer against the length of the text; and, if llguidance or outlines-core are installed,
two rules that a regular expression can say as well, beside them. Generation is timed by the processor's time, in turns;
a ratio is the median over rounds, with the lowest and the highest. Steps of an enforcer are medians of the wall's time.
Their scores are random, so that nearly every token that is tried leads to a word that is new: the worst case.
"""

import argparse
import json
import random
import statistics
import time
import warnings
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from operator import itemgetter
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

import nretm
from reproduction.bench.model import Bench, Script, ratio, story
from reproduction.files import ROOT, results_folder, write_whole
from reproduction.report.run_files import surroundings

R1 = "InSen(grocery trip, 2) & InSen(waiting line, 4) & Len(2, 9) & Len(4, 12)"
R3 = ("(Len(2, 9) || StopWordCount(2, 4)) & (Len(4, 12) || StopWordCount(4, 5)) & InSen(grocery trip, 2) & "
      "InSen(waiting line, 4)")
BESIDE = {  # a rule, and the same as a regular expression
    "exactly nine words": ("Len(1, 9)", r"([A-Za-z]+ ){8}[A-Za-z]+"),
    "contains both words": ("Copy(rain) & Copy(umbrella)", r"([A-Za-z]+ )*(rain ([A-Za-z]+ )*umbrella|"
                            r"umbrella ([A-Za-z]+ )*rain)( [A-Za-z]+)*")}
WORDS = "the old man went home with his dog".split()
LENGTHS = (10, 50, 100, 200, 300, 400)
TEXTS, MILLION = 20, 1e6


def generations(what: str, target: float, plain: Callable, enforced: Callable, tokens: int, rounds: int) -> dict:
    """A row of the table: a step without enforcement, a step with it, and their ratio."""
    times = {"plain": [], "enforced": []}
    for turn in range(1 + rounds):  # the first warms up
        for name, generate in (("plain", plain), ("enforced", enforced)):
            begin = time.process_time()
            generate()
            if turn:
                times[name].append(time.process_time() - begin)
    plain, held = (f"{1000 * statistics.median(times[name]) / tokens:.0f} ms" for name in times)
    row = {"what": what, "step": plain, "enforced": held, "ratio": ratio(times, "enforced"),
           "target": f"≤ {target:.2f}"}
    print(row, flush=True)
    return row


def t5(small: bool, tokens: int, rounds: int) -> list[dict]:
    bench, rows = Bench.build(small, rounds), []
    stories = [story(bench.tok, 96, 48) for _ in range(2 if small else 8)]
    for name, rule in (("R1", R1), ("R3", R3)):
        batch = bench.tok([rule] * len(stories), return_tensors="pt", padding=True)
        inputs = {key: batch[key].to(bench.device) for key in ("input_ids", "attention_mask")}
        script = Script(bench.tok, tokens, bench.plain.config.vocab_size, bench.device)
        common = inputs | dict(rules=[rule] * len(stories), max_new_tokens=tokens, min_new_tokens=tokens, num_beams=5,
                               logits_processor=[script])
        generate = partial(bench.ours.eval().generate, **common)
        what = f"T5-Base's shape, {name}, batch {len(stories)}, beam 5, vocabulary 32,000"
        rows.append(generations(what, 1.3, generate, partial(generate, enforce=True), tokens, rounds))
    return rows


def causal(model, tok, tokens: int, rounds: int) -> list[dict]:
    inputs, rows = tok(["A short story of a few sentences. "] * 8, return_tensors="pt"), []
    size = round(model.num_parameters() / MILLION)
    for name, rule in (("R1", R1), ("R3", R3)):
        enforcer = nretm.Enforcer([rule] * 8, tok, max_new_tokens=tokens)
        common = inputs | enforcer.settings | {"pad_token_id": tok.pad_token_id, "min_new_tokens": tokens}
        what = f"decoder-only, {size} million parameters, {name}, batch 8, greedy, vocabulary {len(tok):,}"
        generate = partial(model.generate, **common)
        rows.append(generations(what, 1.2, generate, partial(generate, logits_processor=[enforcer]), tokens, rounds))
    return rows


def steps_of(enforcer: nretm.Enforcer, ids: list[int], count: int) -> list[float]:
    """Microseconds of each of the first `count` steps of one row whose text is given, with random scores."""
    numbers, taken = torch.Generator().manual_seed(0), []
    for n in range(count):
        prefix = torch.tensor([[0, *ids[:n]]])
        scores = torch.randn(1, enforcer.vocabulary, generator=numbers)
        begin = time.perf_counter()
        enforcer(prefix, scores)
        taken.append(MILLION * (time.perf_counter() - begin))
    return taken


def growth(tok) -> list[dict]:
    """The enforcer's own time per step, against the length of the text: of the twenty steps up to each length."""
    rule, _ = BESIDE["contains both words"]
    text = "".join(f" {word}" for word in random.Random(0).choices(WORDS, k=LENGTHS[-1]))
    enforcer = nretm.Enforcer([rule], tok, max_new_tokens=2 * LENGTHS[-1])
    taken = steps_of(enforcer, tok(text, add_special_tokens=False)["input_ids"], LENGTHS[-1])
    return [{"tokens": n, "µs per step": round(statistics.median(taken[max(0, n - 20):n]))} for n in LENGTHS]


def beside(tok) -> list[dict]:
    """Ours and the peers: what is done once per tokenizer, once per rule, and in each step of one row."""
    rows, once, ids = [], {}, tok(" ".join(WORDS), add_special_tokens=False)["input_ids"]
    for name, (rule, pattern) in BESIDE.items():
        for library, peer in (("NRETM", _ours), ("llguidance", _llguidance), ("outlines-core", _outlines)):
            try:
                vocabulary, compiled, taken = peer(tok, rule if peer is _ours else pattern, ids)
            except ImportError:
                print(f"{library} is not installed")
                continue
            tokenizer = once.setdefault(library, vocabulary)
            name_and_version = library if peer is _ours else f"{library} {version(library)}"
            rows.append({"rule": name, "library": name_and_version, "tokenizer, once": f"{1000 * tokenizer:.0f} ms",
                         "rule, once": f"{1000 * compiled:.1f} ms", "mask": f"{statistics.median(taken):.0f} µs"})
            print(rows[-1], flush=True)
    return rows


def _ours(tok, rule: str, ids: list[int]) -> tuple[float, float, list[float]]:
    policy, times = nretm.Policy(words="ifeval"), [time.perf_counter()]
    nretm.Enforcer(["Copy(new)"], tok, policy, max_new_tokens=32)
    times.append(time.perf_counter())
    enforcer = nretm.Enforcer([rule], tok, policy, max_new_tokens=32)
    times.append(time.perf_counter())
    taken = [taken for _ in range(TEXTS) for taken in steps_of(enforcer, ids, len(ids))]
    return times[1] - times[0], times[2] - times[1], taken


def _llguidance(tok, pattern: str, ids: list[int]) -> tuple[float, float, list[float]]:
    import llguidance.hf
    import llguidance.torch as masks

    times = [time.perf_counter()]
    vocabulary = llguidance.hf.from_tokenizer(tok)
    times.append(time.perf_counter())
    matcher = llguidance.LLMatcher(vocabulary, llguidance.LLMatcher.grammar_from_regex(pattern))
    times.append(time.perf_counter())
    bits, taken = masks.allocate_token_bitmask(1, len(tok)), []
    for _ in range(TEXTS):
        matcher.reset()
        for token in ids:
            begin = time.perf_counter()
            masks.fill_next_token_bitmask(matcher, bits)
            matcher.consume_tokens([token])
            taken.append(MILLION * (time.perf_counter() - begin))
    return times[1] - times[0], times[2] - times[1], taken


def _outlines(tok, pattern: str, ids: list[int]) -> tuple[float, float, list[float]]:
    import outlines_core
    import outlines_core.kernels.torch as masks

    times, pieces, written = [time.perf_counter()], nretm.tracking.TokenBytes(tok), {}
    for token_id in range(len(tok)):
        if piece := pieces[token_id]:
            written.setdefault(piece, []).append(token_id)
    vocabulary = outlines_core.Vocabulary(tok.eos_token_id, written)
    times.append(time.perf_counter())
    index = outlines_core.Index(pattern, vocabulary)
    times.append(time.perf_counter())
    bits, taken = masks.allocate_token_bitmask(len(tok)), []
    for _ in range(TEXTS):
        guide = outlines_core.Guide(index)
        for token in ids:
            begin = time.perf_counter()
            masks.fill_next_token_bitmask(guide, bits)
            guide.advance(token, return_tokens=False)
            taken.append(MILLION * (time.perf_counter() - begin))
    return times[1] - times[0], times[2] - times[1], taken


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m reproduction bench enforcement", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="a model of two layers, to try the benchmark itself")
    parser.add_argument("--tokens", type=int, default=32, help="tokens to generate (default: 32)")
    parser.add_argument("--rounds", type=int, default=3, help="rounds that are measured, after one that warms up")
    parser.add_argument("--causal", metavar="DIR", help="a decoder-only model with its tokenizer")
    parser.add_argument("--keep", action="store_true", help="write the figures to results/demo, for notebook 14")
    given = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore", nretm.RuleBroken)
    command = f"python -m reproduction bench enforcement --tokens {given.tokens} --rounds {given.rounds}"
    if given.causal:
        model = AutoModelForCausalLM.from_pretrained(given.causal).eval()
        tok = AutoTokenizer.from_pretrained(given.causal)
        tok.pad_token = tok.pad_token or tok.eos_token
        part = {"beside": beside(tok), "growth": growth(tok), "steps": causal(model, tok, given.tokens, given.rounds)}
        command += f" --causal {Path(given.causal).name}"
    else:
        part = {"steps": t5(given.small, given.tokens, given.rounds)}
    if given.keep:
        path = results_folder(ROOT, "demo") / "tables" / "cost_enforcement.json"
        record = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {"steps": [], "commands": []}
        rows = {row["what"]: row for row in (*record["steps"], *part["steps"])}
        steps = sorted(rows.values(), key=itemgetter("what"))
        commands = sorted({*record["commands"], f"{command} --keep"})
        record |= part | {"steps": steps, "commands": commands} | surroundings()
        write_whole(path, json.dumps(record, indent=1, ensure_ascii=False) + "\n")
        print(f"written: {path}")


if __name__ == "__main__":
    main()
