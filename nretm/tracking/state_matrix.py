"""The state matrix: the flags of all input tokens after every prefix of the output (paper, section 2.4).

Rows are input tokens, columns are steps: column 0 is the empty prefix, column t follows the t-th output token.
"""

from __future__ import annotations

import html
import itertools
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from nretm.rules.formula import Rule
from nretm.text.policy import Policy
from nretm.tracking.flags import FlagTable, N, entry
from nretm.tracking.tracker import Tracker
from nretm.tracking.word_tokenizer import WordTokenizer

COLOURS = {N: "#f0f0f0", "0": "#dd9fc3", "1": "#7cc4ef", "2": "#2fae86"}  # told apart without red and green
CHANGE = "#ffd400"
MOST_ROWS = 25  # of a picture with a row for every input token


@dataclass(frozen=True)
class Cell:
    """One cell of a picture: what is printed, the status that colours it, whether the status has just changed."""

    lines: tuple[str, ...]  # an entry of the flag each
    status: str
    changed: bool = False


@dataclass(frozen=True)
class StateMatrix:
    """A state matrix in its compact form: tokens of one group share their row.

    columns  (T + 1, G) flag numbers in `table`;  groups (S,) the group of each input token
    entries  after every prefix, for every group, the entries of its flag
    panels   for each literal its variables (None: every token) and its (status, value) after every prefix
    """

    rule: Rule
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]  # the first is the empty prefix
    columns: np.ndarray
    groups: np.ndarray
    table: FlagTable
    entries: list[list[list[str]]]
    panels: dict[Rule, tuple[tuple[int, ...] | None, tuple[tuple[int, int | None], ...]]]

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
        import pandas

        return pandas.DataFrame(
            self.strings,
            index=pandas.MultiIndex.from_tuples(list(enumerate(self.inputs)), names=["i", "input"]),
            columns=pandas.MultiIndex.from_tuples(list(enumerate(self.outputs)), names=["step", "output"]))

    def rows(self) -> list[tuple[str, list[Cell]]]:
        """The joined flags as cells: coloured by the least advanced entry, N only if there is no other.

        A long input is shown by runs of neighbouring tokens that carry the same flags.
        """
        rows = []
        for label, group in self._labels():
            entries = [step[group] for step in self.entries]
            statuses = [[e[0] for e in flag] for flag in entries]
            least = [min((status for status in flag if status != N), default=N) for flag in statuses]
            rows.append((label, _cells(entries, least, statuses)))
        return rows

    def _labels(self) -> list[tuple[str, int]]:
        """The label and the group of each row."""
        if len(self.inputs) <= MOST_ROWS:
            return list(zip(self.inputs, self.groups, strict=True))
        runs = itertools.groupby(zip(self.inputs, self.groups, strict=True), key=lambda pair: pair[1])
        joined = ((" ".join(token for token, _ in run), group) for group, run in runs)
        return [(text if len(text) <= 24 else f"{text[:11]} … {text[-10:]}", group) for text, group in joined]

    def predicate_rows(self, literal: Rule) -> list[tuple[str, list[Cell]]]:
        """One literal's own entry: a row for each of its variables, or a single one if it has none."""
        variables, states = self.panels[literal]
        statuses = [str(status) for status, _ in states]
        values = [[entry(state)] for state in states]
        labels = ["every token"] if variables is None else [self.inputs[i] for i in variables]
        return [(label, _cells(values, statuses, statuses)) for label in labels]

    def plot(self, by: str = "flag"):
        """A matplotlib figure: one heatmap of the joined flags, or by="predicate" one panel a literal."""
        from nretm.tracking.heatmap import plot_matrix

        return plot_matrix(self, by)

    def _repr_html_(self) -> str:
        head = "".join(f"<th style='{_TILTED}'>{html.escape(token)}</th>" for token in self.outputs)
        body = "".join(f"<tr><th style='text-align:right'>{html.escape(token)}</th>{''.join(map(_td, cells))}</tr>"
                       for token, cells in self.rows())
        legend = " ".join(f"<span style='background:{colour};color:#000;padding:1px 6px'>{meaning}</span>"
                          for (_, colour), meaning in zip(COLOURS.items(), MEANINGS, strict=True))
        return (f"<div style='overflow-x:auto'><p>{legend} <span style='border:2px solid {CHANGE};padding:0 6px'>"
                f"status has just changed</span></p><table style='border-collapse:collapse;font-size:80%'>"
                f"<tr><th></th>{head}</tr>{body}</table></div>")


MEANINGS = ("N not its variable", "0 not satisfied", "1 in progress", "2 satisfied")
_TILTED = "writing-mode:vertical-rl;transform:rotate(180deg);text-align:left;font-weight:normal"


def _td(cell: Cell) -> str:
    outline = f"2px solid {CHANGE}" if cell.changed else "1px solid #fff"
    return (f"<td style='background:{COLOURS[cell.status]};color:#000;border:{outline};white-space:nowrap;"
            f"text-align:center'>{'<br>'.join(map(html.escape, cell.lines))}</td>")


def _cells(entries: list[list[str]], statuses: list[str], compared: list) -> list[Cell]:
    """Cells in a row; a gap between status and value that is seen in small print."""
    return [Cell(tuple(e.replace(" ", "\u2002") for e in lines), status, bool(t) and compared[t] != compared[t - 1])
            for t, (lines, status) in enumerate(zip(entries, statuses, strict=True))]


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
    entries = [[list(map(entry, flag)) for flag in tracker.entries(state.states, unaligned)] for state in states]
    panels = {}
    for i, literal in enumerate(tracker.literals):
        groups = {g for g, shown in enumerate(tracker.layout.entries) if any(i in turns for turns in shown)}
        tokens = tuple(t for t, g in enumerate(tracker.groups) if g in groups)
        panels[literal] = (None if len(tokens) == len(tracker.input_ids) else tokens,
                           tuple(state.states[i] for state in states))
    return StateMatrix(tracker.rule, tuple(map(pieces.shown, tracker.input_ids)),
                       ("ε", *map(pieces.shown, token_ids)), tracker.columns(states, gold), tracker.groups,
                       tracker.table, entries, panels)
