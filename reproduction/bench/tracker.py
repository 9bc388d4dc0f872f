"""`python -m reproduction bench tracker`: what the tracker costs, beside a plain re-scan of the prefix, in one run.

Rule R3 of Table 1 (six predicates) over texts of short sentences, with a SentencePiece-like tokenizer that is trained
on the spot, so that words are cut into pieces.  Everything runs on one core; times are of the processor, medians of
several rounds.  A rule or a text is new when it is run for the first time: its states, or the words of its tokens, have
to be made.  Before rules were automata, and on beams of the demo's model (rule R3, two cores with other work on them),
the host's work in a step was 39 to 49 µs per hypothesis when all was new and 15 to 20 when nothing was; in the same
runs it has become 18 to 19 and 3 to 5.
"""

from __future__ import annotations

import argparse
import copy
import random
import statistics
import time

import numpy as np
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

import reproduction.data
from nretm.rules import parse
from nretm.text import Policy
from nretm.tracking import Tracker
from reproduction.bench.host_work import BEAMS, ROWS, host_work, random_r3
from reproduction.bench.rescan import rescan
from reproduction.data.learned_tokens import learned_tokenizer
from reproduction.data.matrices import no_garbage_collection

R3 = ("(Len(2, 9) || StopWordCount(2, 3)) & (Len(4, 12) || StopWordCount(4, 5)) & InSen(grocery trip, 2) & "
      "InSen(waiting line, 4)")
WORDS = ("Sam Nina the a her his dog cat garden kitchen grocery trip waiting line painted carried borrowed slowly "
         "quietly yesterday because after with under was had to and then friend neighbour umbrella suitcase "
         "unexpectedly celebrated disappointed wonderful rainy afternoon").split()
ROUNDS = 15
REAL_STORIES = 1500
TARGETS = {"step": 20.0, "matrix": 25.0, "growth": 1.2, "host, all new": 20.0, "host, warm": 5.0}
TABLE = {  # what is measured -> its name among the figures
    "one step, all flags included, µs per token": "step",
    "state matrix of a story as ids, µs per target token": "matrix",
    "… with a new rule": "matrix, rule new",
    "… with a new rule and new text": "matrix, all new",
    "step 500 against step 50": "growth",
    f"host work of a step, µs per hypothesis, {ROWS} x {BEAMS}": "host, warm",
    "… with new rules": "host, rules new",
    "… with new rules and new texts": "host, all new",
}


def main() -> None:
    """Print the table and the targets."""
    parser = argparse.ArgumentParser(prog="python -m reproduction bench tracker",
                                     description="What the tracker costs, beside a plain re-scan of the prefix.")
    parser.add_argument("--rounds", type=int, default=ROUNDS, metavar="N",
                        help=f"rounds, of which medians are shown (default: {ROUNDS})")
    parser.add_argument("--data", metavar="DIR", help="a folder with stories, to be measured as new text too")
    arguments = parser.parse_args()
    rounds = arguments.rounds
    figures = measure(rounds)
    print(f"rule R3, six predicates, input of {figures['input tokens']} tokens; medians of {rounds} rounds\n")
    print(f"{'what':<52}{'tracker':>10}{'re-scan':>10}{'target':>9}")
    for what, key in TABLE.items():
        plain = format(figures[f"{key}, re-scan"], ".2f") if f"{key}, re-scan" in figures else ""
        target = f"≤ {TARGETS[key]:g}" if key in TARGETS else ""
        print(f"{what:<52}{figures[key]:>10.2f}{plain:>10}{target:>9}")
    if arguments.data:
        first, again = real_text(arguments.data)
        print(f"{f'state matrices of {REAL_STORIES} real stories, first time':<52}{first:>10.2f}{'':>10}{'≤ 30':>9}")
        print(f"{'… a second time':<52}{again:>10.2f}")


def measure(rounds: int = ROUNDS) -> dict[str, float]:
    """The figures of the table, by name."""
    random.seed(0)
    tokenizer, rule = _tokenizer(), parse(R3)
    tracker = Tracker(rule, tokenizer)
    stories = [_ids(tokenizer, 5) for _ in range(40)]
    long_text = _ids(tokenizer, 120)[:560]
    for ids in (*stories, long_text):  # the automaton of words is shared and warm, as in training
        tracker.states(ids)
    states = tracker.states(long_text)

    figures: dict[str, list[float]] = {}
    for _ in range(rounds):
        texts = [_ids(tokenizer, 40) for _ in range(ROWS * BEAMS)]
        for key, value in (_round(tracker, stories, long_text, states) | _new(tokenizer, stories)
                           | host_work(tokenizer, texts, WORDS)).items():
            figures.setdefault(key, []).append(value)
    return {"input tokens": len(tracker.input_ids)} | {k: statistics.median(v) for k, v in figures.items()}


def _round(tracker: Tracker, stories: list[list[int]], long_text: list[int], states: list) -> dict[str, float]:
    tokens = sum(map(len, stories))
    step = _seconds(lambda: [_flags_of_every_step(tracker, ids) for ids in stories]) / tokens
    matrix = _seconds(lambda: [tracker.run(ids)[:, tracker.groups] for ids in stories]) / tokens
    early, late = _steps(tracker, states, long_text, 50), _steps(tracker, states, long_text, 500)
    text = {n: tracker.reader.text(long_text[:n]) for n in (50, 500)}
    slow = {n: _seconds(lambda t=t: rescan(tracker.rule, t, False, Policy())) for n, t in text.items()}
    story = stories[0]
    prefixes = [tracker.reader.text(story[:n]) for n in range(len(story) + 1)]
    plain = _seconds(lambda: [rescan(tracker.rule, p, False, Policy()) for p in prefixes]) / len(story)
    return {"step": 1e6 * step, "matrix": 1e6 * matrix, "growth": late / early, "step, re-scan": 1e6 * plain,
            "matrix, re-scan": 1e6 * plain, "growth, re-scan": slow[500] / slow[50]}


def _new(tokenizer, stories: list[list[int]]) -> dict[str, float]:
    """State matrices as a training set has them: each story has its own rule."""
    figures, tokens = {}, sum(map(len, stories))
    for name, tok in (("matrix, rule new", tokenizer), ("matrix, all new", copy.deepcopy(tokenizer))):
        trackers = [Tracker(random_r3(WORDS), tok) for _ in stories]
        figures[name] = 1e6 / tokens * _seconds(lambda trackers=trackers: [
            tracker.run(ids)[:, tracker.groups] for tracker, ids in zip(trackers, stories, strict=True)])
    return figures


def real_text(data: str) -> tuple[float, float]:
    """µs per target token of the state matrices of real stories, each with its own R1: a first and a second time.

    Without garbage collection, as they are made for training.
    """
    examples = reproduction.data.load("rocstories", "train", "r1", data, size=REAL_STORIES)
    tokenizer = learned_tokenizer([example.target for example in examples], 5000)
    pairs = [(Tracker(example.rule, tokenizer), tokenizer(example.target)["input_ids"]) for example in examples]
    tokens = sum(len(target) for _, target in pairs)
    with no_garbage_collection():
        first, again = (_seconds(lambda: [tracker.run(target, gold=True) for tracker, target in pairs])
                        for _ in range(2))
    return 1e6 * first / tokens, 1e6 * again / tokens


def _flags_of_every_step(tracker: Tracker, ids: list[int]) -> None:
    """As generation does it: one state per token, and the flag of every input token from it."""
    state = tracker.start()
    for token_id in ids:
        state = tracker.step(state, token_id)
        np.array(state.flag_ids)[tracker.groups]


def _steps(tracker: Tracker, states: list, ids: list[int], at: int) -> float:
    """Seconds for the twenty steps from `at` on, each taken from its own state."""
    pairs = list(zip(states[at:at + 20], ids[at:at + 20], strict=True))
    return _seconds(lambda: [tracker.step(state, token_id) for state, token_id in pairs for _ in range(20)])


def _seconds(work) -> float:
    begin = time.process_time()
    work()
    return time.process_time() - begin


def _sentence() -> str:
    return " ".join(random.choices(WORDS, k=random.randint(4, 14))) + random.choice(".!?")


def _ids(tokenizer, sentences: int) -> list[int]:
    return tokenizer(" ".join(_sentence() for _ in range(sentences)))["input_ids"]


def _tokenizer() -> PreTrainedTokenizerFast:
    """Unigram pieces, T5's kind; the rule's expression comes to about forty tokens, as in the paper."""
    tok = Tokenizer(models.Unigram())
    tok.pre_tokenizer, tok.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=300, special_tokens=["<pad>", "</s>", "<unk>"], unk_token="<unk>",
                                      show_progress=False)
    tok.train_from_iterator([_sentence() for _ in range(300)] + [R3, "0 1 2 3 4 5 6 7 8 9"] * 100, trainer)
    tok.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    return PreTrainedTokenizerFast(tokenizer_object=tok, pad_token="<pad>", eos_token="</s>", unk_token="<unk>")
