"""The state matrix: the flags of all input tokens after every prefix of the output (paper, section 2.4).

Rows are input tokens, columns are steps: column 0 is the empty prefix, column t follows the t-th output token.
"""

from __future__ import annotations

import html
import importlib
import itertools
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from nretm.rules.formula import Rule
from nretm.text.policy import Policy
from nretm.tracking.flags import FlagTable, N, entry, joined
from nretm.tracking.tracker import State, Tracker
from nretm.tracking.word_tokenizer import WordTokenizer

BROKEN = "✗"  # of a status that no further word can turn into 2
# Light, middle, dark: statuses that follow each other differ by 3:1 in luminance, and broken carries a sign as well.
COLORS = {N: "#ffffff", "0": "#eef3f8", "1": "#4c8fd3", "2": "#0a4a36", BROKEN: "#7a1048"}
INK = {N: "#000000", "0": "#000000", "1": "#000000", "2": "#ffffff", BROKEN: "#ffffff"}
EDGE = "#6b7480"  # around "0", which is nearly as light as N
CHANGE = ("#000000", "#ffd400")  # a dark and a light line: one of them is seen on any color
MEANINGS = {N: "N: not its variable", "0": "0: not yet", "1": "1: in progress", "2": "2: satisfied",
            BROKEN: f"{BROKEN}: broken for good"}
CHANGED = "status has just changed"
SEVERAL = f"A cell with several entries has the color of the worst: {BROKEN}, then 0, 1, 2."
MOST_ROWS = 25  # of a picture with a row for every input token


class Entry(NamedTuple):
    """One entry of a flag as it is drawn: its text, and N, "0", "1", "2" or BROKEN for its color."""

    text: str
    shade: str


@dataclass(frozen=True)
class Cell:
    """One cell of a picture: what is printed, what colors it, whether a status has just changed."""

    lines: tuple[str, ...]  # an entry of the flag each
    shade: str
    changed: bool = False


@dataclass(frozen=True)
class StateMatrix:
    """A state matrix in its compact form: tokens of one group share their row.

    columns  (T + 1, G) flag numbers in `table`;  groups (S,) the group of each input token
    entries  after every prefix, for every group, the entries of its flag
    panels   for each literal its variables (None: every token) and its entry after every prefix
    """

    rule: Rule
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]  # the first is the empty prefix
    columns: np.ndarray
    groups: np.ndarray
    table: FlagTable
    entries: list[list[list[Entry]]]
    panels: dict[Rule, tuple[tuple[int, ...] | None, list[Entry]]]

    @cached_property
    def ids(self) -> np.ndarray:
        """(S, T + 1) flag numbers."""
        return self.columns[:, self.groups].T

    @property
    def strings(self) -> np.ndarray:
        """(S, T + 1) flags."""
        return np.array(self.table.strings, dtype=object)[self.ids]

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.inputs), len(self.outputs)

    def frame(self):
        """The matrix as a pandas frame, labelled with positions and tokens."""
        pandas = _needed("pandas")
        return pandas.DataFrame(
            self.strings,
            index=pandas.MultiIndex.from_tuples(list(enumerate(self.inputs)), names=["i", "input"]),
            columns=pandas.MultiIndex.from_tuples(list(enumerate(self.outputs)), names=["step", "output"]))

    def rows(self) -> list[tuple[str, list[Cell]]]:
        """The joined flags as cells, colored by the worst entry; N only if there is no other.

        A long input is shown by runs of neighboring tokens that carry the same flags.
        """
        return [(label, _cells([step[group] for step in self.entries])) for label, group in self._labels()]

    def _labels(self) -> list[tuple[str, int]]:
        """The label and the group of each row."""
        if len(self.inputs) <= MOST_ROWS:
            return list(zip(self.inputs, self.groups, strict=True))
        runs = itertools.groupby(zip(self.inputs, self.groups, strict=True), key=lambda pair: pair[1])
        joined = ((" ".join(token for token, _ in run), group) for group, run in runs)
        return [(text if len(text) <= 24 else f"{text[:11]} … {text[-10:]}", group) for text, group in joined]

    def predicate_rows(self, literal: Rule) -> list[tuple[str, list[Cell]]]:
        """One literal's own entry: a row for each of its variables, or a single one if it has none."""
        variables, entries = self.panels[literal]
        labels = ["every token"] if variables is None else [self.inputs[i] for i in variables]
        return [(label, _cells([[entry] for entry in entries])) for label in labels]

    def plot(self, by: str = "flag"):
        """A matplotlib figure: one heatmap of the joined flags, or by="predicate" one panel per literal."""
        _needed("matplotlib")
        from nretm.tracking.heatmap import plot_matrix

        return plot_matrix(self, by)

    def _repr_html_(self) -> str:
        head = "".join(f"<th style='{_TILTED}'>{html.escape(visible(token))}</th>" for token in self.outputs)
        body = "".join(f"<tr><th style='text-align:right'>{html.escape(visible(token))}</th>"
                       f"{''.join(map(_td, cells))}</tr>" for token, cells in self.rows())
        legend = " ".join(f"<span style='{_style(shade)};padding:1px 6px'>{meaning}</span>"
                          for shade, meaning in MEANINGS.items())
        several = f"<br>{SEVERAL}" if len(self.entries[0][0]) > 1 else ""
        return (f"<div style='overflow-x:auto'><p>{legend} <span style='{_OUTLINE};padding:0 6px'>{CHANGED}</span>"
                f"{several}</p><table style='border-collapse:separate;border-spacing:2px'>"
                f"<tr><th></th>{head}</tr>{body}</table></div>")


_TILTED = "writing-mode:vertical-rl;transform:rotate(180deg);text-align:left;font-weight:normal"
_OUTLINE = f"outline:2px solid {CHANGE[0]};border:2px solid {CHANGE[1]}"


def _style(shade: str) -> str:
    return f"background:{COLORS[shade]};color:{INK[shade]};border:1px solid {EDGE if shade == '0' else COLORS[shade]}"


def _needed(package: str):
    """A package of the extra `plot`, which the library does without otherwise."""
    try:
        return importlib.import_module(package)
    except ModuleNotFoundError:
        raise ImportError(f"this needs {package}, which is not installed: pip install {package}") from None


def _td(cell: Cell) -> str:
    return (f"<td style='{_style(cell.shade)};{_OUTLINE if cell.changed else ''};white-space:nowrap;"
            f"text-align:center'>{'<br>'.join(map(html.escape, cell.lines))}</td>")


def visible(token: str) -> str:
    """A token as a label: a full stop on its own is easily missed, so punctuation is quoted."""
    return token if any(c.isalnum() for c in token) else f"“{token or '␣'}”"


def _cells(flags: list[list[Entry]]) -> list[Cell]:
    """Cells in a row; a gap between status and value that is seen in small print."""
    shades = [[entry.shade for entry in flag] for flag in flags]
    worst = [min((shade for shade in flag if shade != N), key=f"{BROKEN}012".index, default=N) for flag in shades]
    return [Cell(tuple(entry.text.replace(" ", "\u2002") for entry in flag), worst[t],
                 bool(t) and shades[t] != shades[t - 1]) for t, flag in enumerate(flags)]


def state_matrix(rule: Rule | str, output, tokenizer=None, *, source: str = "", policy: Policy | None = None,
                 table: FlagTable | None = None, compress: bool = True, gold: bool = False) -> StateMatrix:
    """The state matrix of an output, given as a finished text or as token ids (which may be a prefix).

    Without a tokenizer the tokens are words, and the output is a text.
    `gold`: the output is a training target, and what it does not obey gets N (section 2.4).
    """
    if tokenizer is None:
        if not isinstance(output, str):
            raise TypeError("token ids mean nothing without their tokenizer: state_matrix(rule, ids, tokenizer)")
        tokenizer = WordTokenizer()
    tracker = Tracker(rule, tokenizer, source=source, policy=policy, table=table, compress=compress)
    if isinstance(output, str):
        ids = list(tokenizer(text_target=output)["input_ids"])
        if tokenizer.eos_token_id not in (None, tracker.reader.separator_id, *ids[-1:]):
            ids.append(tokenizer.eos_token_id)
    else:
        ids = [int(i) for i in output]
    return matrix_of(tracker, ids, gold)


def matrix_of(tracker: Tracker, token_ids: list[int], gold: bool = False) -> StateMatrix:
    """The state matrix of a tracker's rule over the tokens of an output."""
    pieces, states = tracker.reader.token_bytes, tracker.states(token_ids)
    unaligned = tracker.unaligned(states[-1]) if gold else frozenset()
    aligned = [[[i for i in literals if i not in unaligned] for literals in group] for group in tracker.layout.entries]
    entries = [[[_entry(state, literals) for literals in group] for group in aligned] for state in states]
    panels = {}
    for i, literal in enumerate(tracker.literals):
        groups = {g for g, shown in enumerate(tracker.layout.entries) if any(i in turns for turns in shown)}
        tokens = tuple(t for t, g in enumerate(tracker.groups) if g in groups)
        panels[literal] = (None if len(tokens) == len(tracker.input_ids) else tokens,
                           [_entry(state, [i]) for state in states])
    return StateMatrix(tracker.rule, tuple(map(pieces.shown, tracker.input_ids)),
                       ("ε", *map(pieces.shown, token_ids)), tracker.columns(states, gold), tracker.groups,
                       tracker.table, entries, panels)


def _entry(state: State, literals: list[int]) -> Entry:
    """What some literals show together in one entry of a flag (`flags.joined`), and whether that is beyond repair."""
    shown = joined([state.states[i] for i in literals])
    if shown is None:
        return Entry(N, N)
    responsible = [i for i in literals if state.states[i][0] == shown[0]]
    broken = any(state.broken[i] for i in (responsible[:1] if shown[0] == 1 else literals))
    return Entry(entry(shown) + BROKEN * broken, BROKEN if broken else str(shown[0]))
