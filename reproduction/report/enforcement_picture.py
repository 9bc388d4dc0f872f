"""The study of `python -m reproduction enforcement` as a table and as a picture: CSR against quality, and time."""

import json
from pathlib import Path

import matplotlib.pyplot as plt
import pandas
from matplotlib.figure import Figure

from reproduction.experiments import STORY_RULES
from reproduction.report.tables import BLUE, ORANGE

COLORS = {"T5": BLUE, "NRETM": ORANGE}
MARKS = {"": "o", "best of 16": "s", "enforced": "*", "grid beam search": "D"}
TITLES = {**STORY_RULES, "concepts": "CommonGen"}


def read(results: Path, split: str = "test") -> pandas.DataFrame | None:
    """One row per rule and way; None if the study was not made."""
    path = Path(results) / f"enforcement-{split}.json"
    return pandas.DataFrame(json.loads(path.read_text(encoding="utf-8"))["rows"]) if path.is_file() else None


def shown(study: pandas.DataFrame) -> pandas.DataFrame:
    """The study as it is read."""
    rules = study["rule"].map(TITLES)
    return pandas.DataFrame({
        "rule": rules.where(rules != rules.shift(), ""), "way": study["way"],
        "CSR": study["CSR"].map("{:.1f}".format), **{measure: study[measure].map("{:.1f}".format).replace("nan", "")
                                                     for measure in ("ROUGE-L", "CIDEr") if measure in study},
        "perplexity": study["perplexity"].map("{:.2f}".format),
        "ms per text": (1000 * study["seconds per text"]).map("{:.0f}".format), "texts": study["texts"].map(str)})


def draw(study: pandas.DataFrame) -> Figure:
    """One panel per rule; the larger a mark, the longer a text takes."""
    rules = list(dict.fromkeys(study["rule"]))
    columns = min(3, len(rules))
    lines = -(-len(rules) // columns)
    figure, panels = plt.subplots(lines, columns, figsize=(3.8 * columns, 0.7 + 2.9 * lines), squeeze=False,
                                  layout="constrained")
    handles = {}
    for axes, rule in zip(panels.flat, rules, strict=False):
        rows = study[study["rule"] == rule]
        measure = "CIDEr" if rule == "concepts" else "ROUGE-L"
        for row in rows.to_dict("records"):
            model, _, how = row["way"].partition(", ")
            size = 50 + 200 * row["seconds per text"] / rows["seconds per text"].max()
            axes.scatter(row["CSR"], row[measure], s=size, marker=MARKS[how], color=COLORS[model], edgecolor="black",
                         linewidth=0.6, alpha=0.85)
            handles[row["way"]] = plt.Line2D([], [], color=COLORS[model], marker=MARKS[how], linestyle="",
                                             label=row["way"])
        axes.set(xlabel="CSR, %", ylabel=measure, xlim=(-3, 106))
        axes.set_title(TITLES[rule], fontsize=10)
        axes.margins(y=0.2)
        axes.grid(alpha=0.3)
    for axes in panels.flat[len(rules):]:
        axes.set_axis_off()
    figure.legend(handles=handles.values(), loc="outside lower center", ncols=6, fontsize=9, frameon=False)
    plt.close(figure)
    return figure
