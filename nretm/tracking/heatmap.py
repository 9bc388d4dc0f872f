"""Heatmaps of state matrices, as in the paper's figures: input tokens down, output tokens across."""

from __future__ import annotations

import re
import warnings
from functools import cache
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib import font_manager
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from nretm.tracking.state_matrix import (
    BROKEN,
    CHANGE,
    CHANGED,
    COLORS,
    EDGE,
    INK,
    MEANINGS,
    SEVERAL,
    Cell,
    StateMatrix,
    visible,
)

FONT = 9  # points
LETTER = 0.083  # inches, the width of one
CELL = 0.3  # inches, a line of text in a cell; cells grow sideways where values are long
LINE = 0.16  # inches, each further line: the entries of a flag stand below each other
WIDE = 11.0  # inches: longer outputs go on in a second band below, like lines of text
# Matplotlib's own font has no Chinese: the first of these files that is installed lends it.
CHINESE = ("NotoSansCJK", "NotoSansSC", "SourceHanSans", "wqy-microhei", "wqy-zenhei", "PingFang", "STHeiti",
           "Hiragino Sans GB", "msyh", "simhei", "Arial Unicode")
_IDEOGRAPHS = re.compile(r"[\u2e80-\u9fff\uff00-\uffef]( ?[\u2e80-\u9fff\uff00-\uffef])*")


def plot_matrix(matrix: StateMatrix, by: str = "flag") -> Figure:
    """One heatmap of the joined flags (by="flag"), or one panel per literal (by="predicate").

    Where no installed font has Chinese characters, the figure only counts them and is marked `incomplete`.
    """
    chinese = any(_IDEOGRAPHS.search(text) for text in (*matrix.inputs, *matrix.outputs, str(matrix.rule)))
    lent = _chinese_font() if chinese else None
    with plt.rc_context({"font.family": ["DejaVu Sans", *([lent] if lent else [])]}):
        figure = _plot(matrix, by)
    figure.incomplete = chinese and lent is None
    return figure


@cache
def _chinese_font() -> str | None:
    """Found by its file: matplotlib's cache of names does not know what was installed after it was made."""
    files = {path: Path(path).name.lower() for path in sorted(font_manager.findSystemFonts())}
    for begin in CHINESE:
        for path, name in files.items():
            if name.startswith(begin.lower()) and "bold" not in name:
                font_manager.fontManager.addfont(path)
                return font_manager.get_font(path).family_name
    return None


def _plot(matrix: StateMatrix, by: str) -> Figure:
    if by not in ("flag", "predicate"):
        raise ValueError(f"by must be 'flag' or 'predicate', not {by!r}")
    panels: list[tuple[str, list[tuple[str, list[Cell]]]]] = (
        [(str(matrix.rule), matrix.rows())] if by == "flag"
        else [(str(literal), matrix.predicate_rows(literal)) for literal in matrix.panels])
    panels = [(_legible(title), [(_legible(visible(label)), row) for label, row in rows]) for title, rows in panels]
    outputs = [_legible(visible(token)) for token in matrix.outputs]
    cells = [cell for _, rows in panels for _, row in rows for cell in row]
    several = max(len(cell.lines) for cell in cells)
    across = max(CELL, 0.1 + LETTER * max(len(line) for cell in cells for line in cell.lines))
    down = CELL + LINE * (several - 1)
    margin = 0.3 + LETTER * max(len(label) for _, rows in panels for label, _ in rows)
    labels, gap = 0.25 + LETTER * max(map(len, outputs)), 0.32  # below a band; above a panel, for its title
    legend = 0.35 if several == 1 else 0.6
    columns = len(outputs)
    per_band = -(-columns // -(-columns // int(WIDE / across)))  # bands of even length
    bands = [slice(begin, begin + per_band) for begin in range(0, columns, per_band)]

    wide = max(margin + per_band * across + 0.2, 8.6)  # room for the legend
    high = legend + len(bands) * (sum(gap + down * len(rows) for _, rows in panels) + labels)
    figure = plt.figure(figsize=(wide, high))
    plt.close(figure)  # a notebook shows what a cell returns: not twice
    top = high - legend
    for band in bands:
        width = across * len(outputs[band])
        for i, (title, rows) in enumerate(panels):
            top -= gap + down * len(rows)
            axes = figure.add_axes((margin / wide, top / high, width / wide, down * len(rows) / high))
            shown = [(label, row[band]) for label, row in rows]
            _draw(axes, _fitting(title, wide - margin), shown, outputs[band] if i == len(panels) - 1 else None)
        top -= labels
    handles = [Patch(facecolor=COLORS[shade], edgecolor=EDGE, label=meaning) for shade, meaning in MEANINGS.items()]
    handles.append(Patch(facecolor=CHANGE[1], edgecolor=CHANGE[0], linewidth=1.5, label=CHANGED))
    figure.legend(handles=handles, loc="upper left", ncols=6, fontsize=FONT, frameon=False,
                  bbox_to_anchor=(0.0, 1.0), handlelength=1.2, columnspacing=1.0)
    if several > 1:
        figure.text(0.12 / wide, 1 - 0.42 / high, SEVERAL, fontsize=FONT, va="center")
    return figure


def _draw(axes, title: str, rows: list[tuple[str, list[Cell]]], outputs: list[str] | None) -> None:
    changed = []
    for y, (_, cells) in enumerate(rows):
        for x, cell in enumerate(cells):
            axes.add_patch(Rectangle((x + 0.03, y + 0.03), 0.94, 0.94, facecolor=COLORS[cell.shade], linewidth=0.7,
                                     edgecolor=EDGE if cell.shade == "0" else COLORS[cell.shade]))
            if cell.shade != "N":
                axes.text(x + 0.5, y + 0.52, "\n".join(cell.lines), ha="center", va="center", fontsize=FONT,
                          color=INK[cell.shade], fontweight="bold" if cell.shade == BROKEN else None)
            if cell.changed:
                changed += [Rectangle((x + 0.03, y + 0.03), 0.94, 0.94, fill=False, edgecolor=line, linewidth=width,
                                      clip_on=False)
                            for line, width in zip(CHANGE, (3.6, 1.6), strict=True)]
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
    room = max(20, int(width / LETTER))
    return title if len(title) <= room else title[:room - 1] + "…"
