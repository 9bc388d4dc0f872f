"""All work of the host in a step of generation: 32 rows with rules of their own, 5 beams each (part of bench tracker).

Hashes of the prefixes, states, flags and their tokens, packed for the one copy to the device: what has to be done
before the model can take its step.  The texts are drawn at random; now and then a beam takes over another one's prefix,
as in beam search.  Each round has three generations: the first with a tokenizer that is new, the second with other
rules over the same texts, and the third with the same rules once more.  As in timeit, garbage collection is off.
"""

from __future__ import annotations

import copy
import gc
import random
import time

import torch
from transformers import T5Config, T5ForConditionalGeneration

import nretm
from nretm.modeling import Session

ROWS, BEAMS, STEPS = 32, 5, 60
TAKES_OVER = 0.5  # of the rows, in each step
TINY = dict(d_model=16, d_kv=4, d_ff=16, num_layers=1, num_heads=4)

Step = tuple[torch.Tensor, torch.Tensor]  # the prefixes, (R, t), and the row of each, (R,)


def host_work(tokenizer, texts: list[list[int]], words: list[str]) -> dict[str, float]:
    """Microseconds per hypothesis and step; the texts have at least 60 tokens, and one goes to each beam."""
    tokenizer = copy.deepcopy(tokenizer)
    steps = _beam_search(texts, tokenizer.pad_token_id)
    first, second = ([random_r3(words) for _ in range(ROWS)] for _ in range(2))
    config = T5Config(vocab_size=len(tokenizer), decoder_start_token_id=tokenizer.pad_token_id, **TINY)
    model = nretm.equip(T5ForConditionalGeneration(config), tokenizer)
    return {"host, all new": _generation(model, first, steps), "host, rules new": _generation(model, second, steps),
            "host, warm": _generation(model, second, steps)}


def _generation(model, rules: list[str], steps: list[Step]) -> float:
    inputs = model.nretm.options.tokenizer(rules, return_tensors="pt", padding=True)
    session = Session(model, inputs["input_ids"], rules, STEPS)
    gc.collect()
    gc.disable()
    begin = time.process_time()
    for prefixes, rows in steps:
        _, new = session.packed(prefixes, rows, 1)
        session.keys = torch.empty(len(session.keys) + len(new), 0)  # the model would encode the new flags here
    spent = time.process_time() - begin
    gc.enable()
    return 1e6 * spent / (len(steps) * ROWS * BEAMS)


def _beam_search(texts: list[list[int]], start: int) -> list[Step]:
    beams = [[start] for _ in range(ROWS * BEAMS)]
    rows = torch.arange(ROWS).repeat_interleave(BEAMS)
    steps = [(torch.tensor(beams), rows)]
    for t in range(STEPS):
        for row in range(ROWS):
            if random.random() < TAKES_OVER:
                taken, given = random.sample(range(BEAMS * row, BEAMS * (row + 1)), 2)
                beams[given] = beams[taken]
        beams = [[*beam, text[t]] for beam, text in zip(beams, texts, strict=True)]
        steps.append((torch.tensor(beams), rows))
    return steps


def random_r3(words: list[str]) -> str:
    """A rule of Table 1's kind R3."""
    i, j = random.sample(range(1, 6), 2)
    counts = [f"(Len({k}, {random.randint(6, 14)}) || StopWordCount({k}, {random.randint(2, 6)}))" for k in (i, j)]
    phrases = [f"InSen({' '.join(random.sample(words, 2))}, {k})" for k in (i, j)]
    return " & ".join((*counts, *phrases))
