"""Tables and marks as HTML that looks the same in a notebook, in an untrusted one, and in report.html.

Styles stand in the elements: notebooks that are not trusted lose their style sheets.
"""

import html
from itertools import groupby

import pandas

from nretm.tracking import COLORS
from reproduction.report import claims

CELL = "text-align:left;vertical-align:top;padding:3px 10px"
VERDICT = {claims.SIGNS[claims.HELD]: COLORS["2"], claims.SIGNS[claims.NOT_HELD]: COLORS["✗"]}


class Page(str):
    """HTML that a notebook shows."""

    def _repr_html_(self) -> str:
        return self


def table(frame: pandas.DataFrame) -> Page:
    """A frame, left-aligned and without its index; groups of columns share a heading, and missing figures are empty."""
    head = ""
    if frame.columns.nlevels > 1:
        groups = [(name, len(list(run))) for name, run in groupby(frame.columns.get_level_values(0))]
        head = _row([(name, f" colspan='{width}'") for name, width in groups], "th")
    head += _row([(str(name), "") for name in frame.columns.get_level_values(-1)], "th")
    body = "".join(_row([(_text(cell), "") for cell in cells], "td") for cells in frame.astype(object).to_numpy())
    return Page(f"<table style='border-collapse:collapse'><thead>{head}</thead><tbody>{body}</tbody></table>")


def _row(cells: list[tuple[str, str]], tag: str) -> str:
    return "<tr>" + "".join(f"<{tag}{more} style='{CELL}{_color(text)}'>{html.escape(text)}</{tag}>"
                            for text, more in cells) + "</tr>"


def _text(cell) -> str:
    if isinstance(cell, float) or cell is pandas.NA:
        return "" if pandas.isna(cell) else f"{cell:,.1f}"
    return f"{cell:,}" if isinstance(cell, int) else str(cell)


def _color(text: str) -> str:
    return f";font-weight:bold;color:{VERDICT[text[0]]}" if text[:1] in VERDICT else ""


def said_once(frame: pandas.DataFrame) -> tuple[str, pandas.DataFrame]:
    """Columns with one value for all rows as a sentence, and the rest of the frame."""
    same = {name: str(frame[name].iloc[0]) for name in frame if len(frame) > 1 and frame[name].nunique() == 1}
    said = f"The same for all: {'; '.join(f'{name} {value}' for name, value in same.items())}." if same else ""
    return said, frame.drop(columns=list(same))


def paragraphs(sentences: list[str]) -> str:
    return "".join(f"<p>{html.escape(sentence)}</p>" for sentence in sentences if sentence)
