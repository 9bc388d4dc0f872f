"""From rule to text in one call: what was written, whether it obeys, and its state matrix."""

from __future__ import annotations

import html
import warnings
from dataclasses import dataclass

import torch

from nretm.modeling.generation import known_spelling, read_rules
from nretm.rules.checker import Verdict
from nretm.rules.formula import Rule
from nretm.tracking.state_matrix import StateMatrix, matrix_of
from nretm.tracking.tracker import Tracker


@dataclass(frozen=True)
class Written:
    """What a model wrote for a rule; in a notebook it shows itself with its state matrix."""

    rule: Rule
    text: str
    verdict: Verdict
    matrix: StateMatrix

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"{self.text!r}: {self.summary}"

    @property
    def summary(self) -> str:
        return f"✓ obeys {self.rule}" if self.verdict else f"✗ breaks {self.verdict.why()}"

    def _repr_html_(self) -> str:
        return (f"<blockquote>{html.escape(self.text)}</blockquote><p>{html.escape(self.summary)}</p>"
                f"{self.matrix._repr_html_()}")


def write(model, rules: Rule | str | list[Rule | str], source: str | list[str] = "", **options
          ) -> Written | list[Written]:
    """Let an equipped model write for a rule, or for each rule of a list.

    `source` is the text that the encoder reads before the rule; a list has one for each rule. `options` are those of
    model.generate, such as num_beams=5 or max_new_tokens=60.
    """
    if not hasattr(model, "nretm"):
        raise ValueError("The model is not equipped: call nretm.equip(model, tokenizer) first.")
    several = not isinstance(rules, (str, Rule))
    rules = list(rules) if several else [rules]
    sources = [source] * len(rules) if isinstance(source, str) else list(source)
    if len(sources) != len(rules):
        raise ValueError(f"There are {len(sources)} sources for {len(rules)} rules: give one for each, or none.")
    how = model.nretm.options
    rules = read_rules(rules)
    expressions = [known_spelling(rule, how.tokenizer) for rule in rules]
    inputs = how.tokenizer([source + text for source, text in zip(sources, expressions, strict=True)],
                           return_tensors="pt", padding=True).to(model.device)
    with torch.no_grad(), warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        sequences = model.generate(inputs["input_ids"], attention_mask=inputs["attention_mask"], rules=rules, **options)
    for warning in said:
        warnings.warn(warning.message, stacklevel=2)  # where the user called, not here
    sequences = getattr(sequences, "sequences", sequences).tolist()  # n for each rule if num_return_sequences is n
    copies = len(sequences) // len(rules)
    written = []
    for i, (ids, verdict) in enumerate(zip(sequences, model.nretm.verdicts, strict=True)):
        tracker = Tracker.for_input(rules[i // copies], inputs["input_ids"][i // copies], how.tokenizer, how.policy,
                                    compress=how.compress)
        states = tracker.states(ids[1:])  # the decoder's start token is not part of the text
        length = next((t for t, state in enumerate(states) if state.finished), len(ids) - 1)
        written.append(Written(tracker.rule, states[length].text, verdict, matrix_of(tracker, ids[1:length + 1])))
    return written if several or copies > 1 else written[0]
