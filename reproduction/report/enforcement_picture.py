"""The study of `python -m reproduction enforcement` as a table and as a picture: CSR against quality, and time."""

import json
from pathlib import Path

import matplotlib.pyplot as plt
import pandas
from matplotlib.figure import Figure

COLORS = {"T5": "#4c78a8", "NRETM": "#e45756"}
MARKS = {"": "o", "best of 16": "s", "enforced": "*", "grid beam search": "D"}


def read(results: Path, split: str = "test") -> pandas.DataFrame | None:
    """One row per rule and way; None if the study was not made."""
    path = Path(results) / f"enforcement-{split}.json"
    return pandas.DataFrame(json.loads(path.read_text(encoding="utf-8"))["rows"]) if path.is_file() else None


def draw(study: pandas.DataFrame) -> Figure:
    """One panel per rule; the size of a mark grows with the time per text."""
    rules = list(dict.fromkeys(study["rule"]))
    figure, panels = plt.subplots(1, len(rules), figsize=(4.2 * len(rules), 3.8), squeeze=False, layout="constrained")
    for axes, rule in zip(panels[0], rules, strict=True):
        rows = study[study["rule"] == rule]
        measure = "CIDEr" if rule == "concepts" else "ROUGE-L"
        for row in rows.to_dict("records"):
            model, _, how = row["way"].partition(", ")
            size = 60 + 240 * row["seconds per text"] / rows["seconds per text"].max()
            axes.scatter(row["CSR"], row[measure], s=size, marker=MARKS[how], color=COLORS[model],
                         edgecolor="black", linewidth=0.6, label=f"{row['way']} ({row['seconds per text']:.3f} s)")
        axes.set(title=rule.upper() if rule != "concepts" else "CommonGen", xlabel="CSR (%)", ylabel=measure)
        axes.set_xlim(-3, 104)
        axes.margins(y=0.15)
        axes.grid(alpha=0.3)
        axes.legend(fontsize=7, markerscale=0.5)
    return figure
