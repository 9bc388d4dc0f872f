"""Pictures as files."""

from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

DPI = 150


def save(figure: Figure, path: Path) -> None:
    """As <path>.png and <path>.svg, the same bytes whenever the same is drawn.

    A picture that is marked `incomplete` (no font could write its Chinese) does not replace one that is there.
    """
    if getattr(figure, "incomplete", False) and path.with_name(f"{path.name}.png").exists():
        print(f"{path.name}: the picture that is there is kept, since no font here can write this one.")
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path.with_name(f"{path.name}.png"), dpi=DPI)
    with plt.rc_context({"svg.hashsalt": "nretm"}):
        figure.savefig(path.with_name(f"{path.name}.svg"), metadata={"Date": None})
