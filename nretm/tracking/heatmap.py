"""Heatmaps of state matrices, as in the paper's figures: input tokens down, output tokens across."""

from __future__ import annotations

import re
import warnings

import matplotlib.pyplot as plt
from matplotlib import font_manager
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from nretm.tracking.state_matrix import CHANGE, COLOURS, MEANINGS, Cell, StateMatrix

CELL = 0.27  # inches, a line of text in a cell; cells grow sideways where values are long
LINE = 0.13  # inches, each further line: the entries of a flag stand below each other
WIDE = 11.0  # inches: longer outputs go on in a second band below, like lines of text
FONT = 7
# Matplotlib's own font has no Chinese: the first of these that is installed lends it.
CHINESE = ("Noto Sans CJK SC", "Noto Sans CJK JP", "Source Han Sans SC", "WenQuanYi Micro Hei", "WenQuanYi Zen Hei",
           "PingFang SC", "Heiti SC", "Hiragino Sans GB", "Microsoft YaHei", "SimHei", "Arial Unicode MS")
_IDEOGRAPHS = re.compile(r"[\u2e80-\u9fff\uff00-\uffef]( ?[\u2e80-\u9fff\uff00-\uffef])*")


def plot_matrix(matrix: StateMatrix, by: str = "flag") -> Figure:
    """One heatmap of the joined flags (by="flag"), or one panel a literal (by="predicate")."""
    installed = set(font_manager.get_font_names())
    with plt.rc_context({"font.family": ["DejaVu Sans", *(name for name in CHINESE if name in installed)]}):
        return _plot(matrix, by)


def _plot(matrix: StateMatrix, by: str) -> Figure:
    if by not in ("flag", "predicate"):
        raise ValueError(f"by must be 'flag' or 'predicate', not {by!r}")
    panels: list[tuple[str, list[tuple[str, list[Cell]]]]] = (
        [(str(matrix.rule), matrix.rows())] if by == "flag"
        else [(str(literal), matrix.predicate_rows(literal)) for literal in matrix.panels])
    panels = [(title, [(_legible(label), row) for label, row in rows]) for title, rows in panels]
    outputs = list(map(_legible, matrix.outputs))
    cells = [cell for _, rows in panels for _, row in rows for cell in row]
    across = max(CELL, 0.09 + 0.055 * max(len(line) for cell in cells for line in cell.lines))
    down = CELL + LINE * (max(len(cell.lines) for cell in cells) - 1)
    margin = 0.3 + 0.075 * max(len(label) for _, rows in panels for label, _ in rows)
    labels, gap = 0.25 + 0.07 * max(map(len, outputs)), 0.3  # below a band; above a panel, for its title
    columns = len(outputs)
    per_band = -(-columns // -(-columns // int(WIDE / across)))  # bands of even length
    bands = [slice(begin, begin + per_band) for begin in range(0, columns, per_band)]

    wide = max(margin + per_band * across + 0.2, 6.4)
    high = 0.3 + len(bands) * (sum(gap + down * len(rows) for _, rows in panels) + labels)
    figure = plt.figure(figsize=(wide, high))
    plt.close(figure)  # a notebook shows what a cell returns: not twice
    top = high - 0.3
    for band in bands:
        width = across * len(outputs[band])
        for i, (title, rows) in enumerate(panels):
            top -= gap + down * len(rows)
            axes = figure.add_axes((margin / wide, top / high, width / wide, down * len(rows) / high))
            shown = [(label, row[band]) for label, row in rows]
            _draw(axes, _fitting(title, wide - margin), shown, outputs[band] if i == len(panels) - 1 else None)
        top -= labels
    handles = [Patch(facecolor=colour, edgecolor="#888", label=meaning)
               for colour, meaning in zip(COLOURS.values(), MEANINGS, strict=True)]
    handles.append(Patch(facecolor="white", edgecolor=CHANGE, linewidth=2, label="status has just changed"))
    figure.legend(handles=handles, loc="upper left", ncols=5, fontsize=FONT, frameon=False,
                  bbox_to_anchor=(0.0, 1.0), handlelength=1.2, columnspacing=1.0)
    return figure


def _draw(axes, title: str, rows: list[tuple[str, list[Cell]]], outputs: list[str] | None) -> None:
    changed = []
    for y, (_, cells) in enumerate(rows):
        for x, cell in enumerate(cells):
            axes.add_patch(Rectangle((x, y), 1, 1, facecolor=COLOURS[cell.status], edgecolor="white", linewidth=0.6))
            if cell.status != "N":
                axes.text(x + 0.5, y + 0.52, "\n".join(cell.lines), ha="center", va="center", fontsize=FONT - 1)
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


def _legible(label: str) -> str:
    """The label, or how many characters stand there if no font that is installed can write them."""
    if len(plt.rcParams["font.family"]) > 1 or not _IDEOGRAPHS.search(label):
        return label
    warnings.warn("No font with Chinese characters is installed, so that the picture only counts them: "
                  f"install one of {', '.join(CHINESE[:3])} and draw it again.", stacklevel=5)
    return _IDEOGRAPHS.sub(lambda found: f"({len(found.group().replace(' ', ''))} signs)", label)


def _fitting(title: str, width: float) -> str:
    room = max(20, int(width / 0.068))
    return title if len(title) <= room else title[:room - 1] + "…"
