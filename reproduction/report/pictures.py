"""Pictures as files."""

from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.figure import Figure


def save(figure: Figure, path: Path) -> None:
    """As <path>.png and <path>.svg, the same bytes whenever the same is drawn."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path.with_name(f"{path.name}.png"), dpi=150)
    with plt.rc_context({"svg.hashsalt": "nretm"}):
        figure.savefig(path.with_name(f"{path.name}.svg"), metadata={"Date": None})
