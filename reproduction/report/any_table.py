"""One model for any rule beside the models of a single rule, built from run files alone."""

from __future__ import annotations

from pathlib import Path

import pandas

from reproduction.data import any_rules
from reproduction.experiments import STORY_RULES
from reproduction.files import write_whole
from reproduction.metrics import Missing
from reproduction.report.run_files import figure, read_runs
from reproduction.report.tables import BLUE, ORANGE

MARGIN = 5.0  # points within which one model "reaches" a specialist
LITERALS = {"insen": 2, "order": 3, "r1": 4, "r2": 5, "r3": 6}  # of the five rules
ROWS = STORY_RULES | {"any": "any shape seen in training"} | any_rules.UNSEEN | {
    any_rules.LONG: "seven to ten literals"}
MODELS = {"t5": "T5", "nretm": "NRETM"}


def csr_of(kind: str, enforced: bool = False) -> str:
    """What a run file calls the CSR on a kind of rules."""
    return f"CSR {kind}, enforced" if enforced else f"CSR {kind}"


def csr_by_literals(number: int) -> str:
    return f"CSR with {number} literals"


def build(results: str | Path) -> pandas.DataFrame:
    """One line per kind of rule and model: its CSR with the interval, and the specialist's where there is one."""
    runs, lines = read_runs(results), []
    for kind, title in ROWS.items():
        for model in MODELS:
            cell = figure(runs.get(f"any-{model}", []), csr_of(kind))
            forced = figure(runs.get(f"any-{model}", []), csr_of(kind, enforced=True))
            own = figure(runs.get(f"{kind}-{model}", []), "CSR") if kind in STORY_RULES else Missing("no such model")
            steps = runs[f"any-{model}"][0]["steps"] if f"any-{model}" in runs else None
            line = {"kind": kind, "row": title, "model": MODELS[model], "steps": steps}
            line |= {} if isinstance(cell, Missing) else {"any rule": cell.value, "low": cell.low, "high": cell.high,
                                                          "n": cell.n}
            line |= {} if isinstance(forced, Missing) else {"enforced": forced.value, "n enforced": forced.n}
            lines.append(line | ({} if isinstance(own, Missing) else {"specialist": own.value}))
    columns = ["kind", "row", "model", "any rule", "low", "high", "n", "steps", "specialist", "enforced", "n enforced"]
    return pandas.DataFrame(lines, columns=columns)


def wide(frame: pandas.DataFrame) -> pandas.DataFrame:
    """As it is read: one line per kind of rule."""
    shown = {}
    for model in MODELS.values():
        part = frame[frame["model"] == model].set_index("row")
        steps = part["steps"].dropna().unique()
        after = f" ({steps[0]:,.0f} steps)" if len(steps) else ""
        shown[f"{model}, one for any rule{after}"] = [_cell(line) for line in part.itertuples()]
        others = {"specialist": f"{model}, one per rule", "enforced": f"{model}, one for any rule, enforced"}
        shown |= {title: ["" if pandas.isna(x) else f"{x:.1f}" for x in part[column]]
                  for column, title in others.items() if column == "specialist" or part[column].notna().any()}
    return pandas.DataFrame(shown, index=pandas.Index(dict.fromkeys(frame["row"]), name="CSR"))


def _cell(line) -> str:
    value, low, high = line[3:6]
    return "" if pandas.isna(value) else f"{value:.1f} [{low:.1f}, {high:.1f}]"


def markdown(frame: pandas.DataFrame) -> str:
    table = wide(frame)
    head = [table.index.name, *table.columns]
    lines = [[row, *values] for row, values in zip(table.index, table.values, strict=True)]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in [head, ["---"] * len(head), *lines])


def save(frame: pandas.DataFrame, results: str | Path) -> None:
    write_whole(Path(results) / "tables" / "any.md", f"One model for any rule: CSR\n\n{markdown(frame)}")
    write_whole(Path(results) / "tables" / "any.csv", frame.round(3).to_csv(index=False))


def plot(results: str | Path):
    """CSR by the number of literals: T5 and NRETM for any rule as lines, the single-rule models as marks."""
    import matplotlib.pyplot as plt

    runs = read_runs(results)
    figure_, axes = plt.subplots(figsize=(7.5, 3.8), layout="constrained")
    for (model, title), color in zip(MODELS.items(), (BLUE, ORANGE), strict=True):
        found = {n: figure(runs.get(f"any-{model}", []), csr_by_literals(n)) for n in range(1, 11)}
        points = {n: cell for n, cell in found.items() if not isinstance(cell, Missing)}
        values = [cell.value for cell in points.values()]
        errors = [[max(cell.value - cell.low, 0) for cell in points.values()],
                  [max(cell.high - cell.value, 0) for cell in points.values()]]
        after = "".join(f" ({run['steps']:,} steps)" for run in runs.get(f"any-{model}", [])[:1])
        axes.errorbar(list(points), values, errors, color=color, marker="o", markersize=4, capsize=2,
                      label=f"{title}, one model for any rule{after}")
        own = {kind: figure(runs.get(f"{kind}-{model}", []), "CSR") for kind in STORY_RULES}
        own = {LITERALS[kind]: cell.value for kind, cell in own.items() if not isinstance(cell, Missing)}
        axes.plot(list(own), list(own.values()), "D", color=color, fillstyle="none",
                  label=f"{title}, one model per rule (Table 1)")
    axes.axvspan(any_rules.MOST_LITERALS + 0.5, 10.5, color="#eeeeee", zorder=0)
    axes.text(10.4, 101, "longer than in training", ha="right", va="top", fontsize=8)
    axes.set(xlabel="literals of the rule", ylabel="CSR", ylim=(0, 102), xlim=(0.5, 10.5), xticks=range(1, 11))
    axes.grid(axis="y", alpha=0.3)
    axes.legend(fontsize=8, loc="upper right", bbox_to_anchor=(1, 0.94))
    plt.close(figure_)
    return figure_


def same_step(results: str | Path) -> str | None:
    """The dev CSR of both models after the last step at which both were looked at, in a sentence."""
    logs = [{row["step"]: row["dev CSR"] for run in read_runs(results).get(f"any-{model}", [])
             for row in run.get("log") or [] if "dev CSR" in row} for model in MODELS]
    if not (common := set(logs[0]) & set(logs[1])):
        return None
    step = max(common)
    return f"After the same {step:,} steps, on dev: T5 {logs[0][step]:.1f}, NRETM {logs[1][step]:.1f}."


def findings(frame: pandas.DataFrame) -> list[str]:
    """What holds, in sentences made from the figures."""
    cells = {(line.kind, line.model): line for line in frame.itertuples()}
    tested = frame.dropna(subset="any rule")
    if tested.empty:
        return ["The models for any rule were not evaluated."]
    values = {key: line[4] for key, line in cells.items()}  # "any rule"
    gaps = {ROWS[kind]: values[kind, "NRETM"] - cells[kind, "NRETM"].specialist for kind in STORY_RULES}
    far = {row: gap for row, gap in gaps.items() if not gap >= -MARGIN}
    said = ", ".join(f"{row} {gap:+.1f}" for row, gap in gaps.items() if not pandas.isna(gap))
    found = [f"NRETM for any rule against the NRETM of a single rule, in points: {said}. "
             + (f"✓ It reaches every specialist (within {MARGIN:.0f} points)." if not far else
                f"✗ It stays more than {MARGIN:.0f} points behind on {', '.join(far)}.")]
    seen = values["any", "NRETM"]
    unseen = {title: values[kind, "NRETM"] for kind, title in any_rules.UNSEEN.items()}
    less = [title for title, value in unseen.items() if value < seen - MARGIN]
    found.append(f"Shapes that were kept out of training, against {seen:.1f} on shapes that were seen: "
                 + ", ".join(f"{title} {value:.1f}" for title, value in unseen.items())
                 + (". ✓ None is more than 5 points below." if not less else f". ✗ More than 5 points below: "
                    f"{', '.join(less)}."))
    wins = [ROWS[kind] for kind in ROWS if values[kind, "NRETM"] > values[kind, "T5"]]
    steps = {line.model: line.steps for line in cells.values()}
    after = "" if len(set(steps.values())) == 1 else " (" + ", ".join(
        f"{model} after {number:,.0f} steps" for model, number in steps.items()) + ")"
    found.append(f"NRETM is ahead of T5{after} on {len(wins)} of {len(ROWS)} kinds of rules; on rules of seven to ten "
                 f"literals {values[any_rules.LONG, 'NRETM']:.1f} against {values[any_rules.LONG, 'T5']:.1f}.")
    return found
