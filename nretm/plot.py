"""Heatmaps of state matrices, as in the paper's figures: input tokens down, output tokens across."""

from __future__ import annotations

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from nretm.matrix import CHANGE, COLOURS, MEANINGS, Cell, StateMatrix
from nretm.rule import Rule

CELL = 0.27  # inches; cells grow sideways where flags are long
FONT = 7


def plot_matrix(matrix: StateMatrix, by: str = "flag") -> Figure:
    """One heatmap of the joined flags (by="flag"), or one panel a literal (by="predicate")."""
    if by not in ("flag", "predicate"):
        raise ValueError(f"by must be 'flag' or 'predicate', not {by!r}")
    panels: list[tuple[str, list[tuple[str, list[Cell]]]]] = (
        [(str(matrix.rule), matrix.rows())] if by == "flag"
        else [(str(literal), matrix.predicate_rows(literal)) for literal in matrix.panels])
    longest = max(len(cell.text) for _, rows in panels for _, cells in rows for cell in cells)
    width = max(CELL, 0.1 + 0.058 * longest) * len(matrix.outputs)
    margin = 0.3 + 0.075 * max(len(label) for _, rows in panels for label, _ in rows)
    labels = 0.25 + 0.07 * max(map(len, matrix.outputs))
    heights = [CELL * len(rows) for _, rows in panels]
    gap = 0.3  # between panels, for their titles
    wide = max(margin + width + 0.2, 6.4)
    high = 0.3 + sum(heights) + gap * len(panels) + labels
    figure = plt.figure(figsize=(wide, high))
    plt.close(figure)  # a notebook shows what a cell returns: not twice
    top = high - 0.3
    for i, ((title, rows), height) in enumerate(zip(panels, heights, strict=True)):
        top -= gap
        axes = figure.add_axes((margin / wide, (top - height) / high, width / wide, height / high))
        _draw(axes, _fitting(title, width), rows, matrix.outputs if i == len(panels) - 1 else None)
        top -= height
    handles = [Patch(facecolor=colour, edgecolor="#888", label=meaning)
               for colour, meaning in zip(COLOURS.values(), MEANINGS, strict=True)]
    handles.append(Patch(facecolor="white", edgecolor=CHANGE, linewidth=2, label="status has just changed"))
    figure.legend(handles=handles, loc="upper left", ncols=5, fontsize=FONT, frameon=False,
                  bbox_to_anchor=(0.0, 1.0), handlelength=1.2, columnspacing=1.0)
    return figure


def _draw(axes, title: str, rows: list[tuple[str, list[Cell]]], outputs: tuple[str, ...] | None) -> None:
    changed = []
    for y, (_, cells) in enumerate(rows):
        for x, cell in enumerate(cells):
            axes.add_patch(Rectangle((x, y), 1, 1, facecolor=COLOURS[cell.status], edgecolor="white", linewidth=0.6))
            if cell.text != "N":
                axes.text(x + 0.5, y + 0.52, cell.text, ha="center", va="center", fontsize=FONT - 1)
            if cell.changed:
                changed.append(Rectangle((x + 0.04, y + 0.04), 0.92, 0.92, fill=False, edgecolor=CHANGE, linewidth=1.8))
    for outline in changed:  # on top of all cells
        axes.add_patch(outline)
    columns = len(rows[0][1])
    axes.set_xlim(0, columns)
    axes.set_ylim(len(rows), 0)
    axes.set_yticks([y + 0.5 for y in range(len(rows))], [label for label, _ in rows], fontsize=FONT, parse_math=False)
    axes.set_xticks([x + 0.5 for x in range(columns)], outputs or [""] * columns, fontsize=FONT, rotation=90,
                    parse_math=False)
    axes.tick_params(length=0, pad=2)
    axes.set_title(title, fontsize=FONT + 1, loc="left", pad=3, parse_math=False)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _fitting(title: str | Rule, width: float) -> str:
    room = max(20, int(width / 0.068))
    return title if len(title) <= room else title[:room - 1] + "…"
