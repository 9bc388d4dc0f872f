"""The paper's tables beside ours, built from run files alone (paper, section 3 and appendix).

    frame = tables.build("table1", "results/demo")   # one line a figure: ours, its interval, the paper's
    tables.wide(frame)                                # as it is read: one line a row of the paper's table
    tables.save(frame, "table1", "results/demo")      # CSV and Markdown

A figure that was not measured is an empty cell with its reason; the paper's are never filled in for ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas

from reproduction.experiments import EXPERIMENTS, STORY_RULES, Experiment
from reproduction.files import write_whole
from reproduction.metrics import Missing
from reproduction.report import paper_figures
from reproduction.report.run_files import figure, read_runs


@dataclass(frozen=True)
class Table:
    """What a table shows: its title, its measures, and the paper's figures by experiment."""

    title: str
    measures: tuple[str, ...]
    paper: dict[str, dict[str, float]]


TABLES = {
    "table1": Table("Table 1: five rules on ROCStories", ("CSR", "ROUGE-L"), paper_figures.TABLE1),
    "tableA": Table("Table A: near misses", ("CSR", "CSR ±1", "CSR ±2"), paper_figures.TABLE_A),
    "tableB": Table("Table B: every predicate on its own", ("InSen_i", "InSen_j", "not InSen_j", "Len_i",
                    "StopWordCount_i", "Len_j", "StopWordCount_j"), paper_figures.TABLE_B),
    "table2": Table("Table 2: CommonGen", ("CIDEr", "SPICE", "Seen", "Novel", "ALL"), paper_figures.TABLE2),
    "table3": Table("Table 3: document translation", ("s-BLEU", "d-BLEU", "SAR"), paper_figures.TABLE3),
    "table4": Table("Table 4: zero-shot sentence index", ("CSA", "MR", "ROUGE-L", "five sentences"),
                    paper_figures.TABLE4),
}


def build(name: str, results: str | Path) -> pandas.DataFrame:
    """One line a figure of a table; ours are over all seeds that were run."""
    table, runs = TABLES[name], read_runs(results)
    lines = []
    for key, paper in table.paper.items():
        for measure in table.measures:
            ours = figure(runs.get(key, []), measure)
            line = {"experiment": key, "row": _row(EXPERIMENTS[key]), "measure": measure, "paper": paper.get(measure)}
            if isinstance(ours, Missing):
                line |= {"missing": ours.reason}
            else:
                line |= {"ours": ours.value, "low": ours.low, "high": ours.high, "seeds": ours.seeds, "n": ours.n}
            if measure in paper or "ours" in line:
                lines.append(line)
    for row, paper in paper_figures.QUOTED.get(name, {}).items():
        lines += [{"experiment": "", "row": f"{row} (quoted by the paper)", "measure": measure, "paper": value}
                  for measure, value in paper.items()]
    columns = ["experiment", "row", "measure", "ours", "low", "high", "paper", "seeds", "n", "missing"]
    return pandas.DataFrame(lines, columns=columns)


def wide(frame: pandas.DataFrame) -> pandas.DataFrame:
    """A line for each row of the paper's table; for each measure ours with interval, the paper's, the difference."""
    measures, rows = list(dict.fromkeys(frame["measure"])), list(dict.fromkeys(frame["row"]))
    cells = {(line.row, line.measure): line for line in frame.itertuples()}
    shown = {}
    for measure in measures:
        lines = [cells.get((row, measure)) for row in rows]
        shown[measure, "ours"] = [_ours(line) for line in lines]
        shown[measure, "paper"] = [_paper(line) for line in lines]
        shown[measure, "ours − paper"] = [_difference(line) for line in lines]
    return pandas.DataFrame(shown, index=pandas.Index(rows, name="row"))


def markdown(frame: pandas.DataFrame) -> str:
    """The wide table as Markdown."""
    table = wide(frame)
    head = ["", *(f"{measure}, {kind}" for measure, kind in table.columns)]
    body = [[row, *values] for row, values in zip(table.index, table.values, strict=True)]
    lines = [head, ["---"] * len(head), *body]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def provenance(name: str, results: str | Path) -> pandas.DataFrame:
    """What each run of a table was made with: split, counts, model, steps, seed, versions, hardware, time, command."""
    found = [run for key in TABLES[name].paper for run in read_runs(results).get(key, [])]
    return pandas.DataFrame([{
        "experiment": run["experiment"], "seed": run["seed"], "split": run["split"],
        "data": _source_and_sizes(run["data"]), "model": run["settings"]["model"], "steps": run["steps"],
        "batch": run["settings"]["batch"], "minutes": f"{run['seconds']['total'] / 60:.1f}",
        "hardware": run["hardware"]["gpu"] or run["hardware"]["cpu"],
        "torch": run["versions"]["torch"], "transformers": run["versions"]["transformers"],
        "commit": (run["commit"] or "")[:9], "command": run["command"]} for run in found])


def save(frame: pandas.DataFrame, name: str, results: str | Path) -> None:
    """Write a table as CSV (every figure with its interval) and as Markdown (as it is read)."""
    folder = Path(results) / "tables"
    write_whole(folder / f"{name}.csv", frame.round(3).to_csv(index=False))
    write_whole(folder / f"{name}.md", f"{TABLES[name].title}\n\n{markdown(frame)}")


def plot(frame: pandas.DataFrame, title: str):
    """Ours with intervals and the paper's figures, one panel a measure, every scale from zero."""
    import matplotlib.pyplot as plt

    measures, rows = list(dict.fromkeys(frame["measure"])), list(dict.fromkeys(frame["row"]))
    down = -(-len(measures) // 5)  # at most five panels side by side
    across = -(-len(measures) // down)
    figure_, panels = plt.subplots(down, across, figsize=(2.2 + 2.3 * across, 0.5 + (0.6 + 0.3 * len(rows)) * down),
                                   sharey=True, squeeze=False, layout="constrained")
    for axes, measure in zip(panels.flat, measures, strict=False):
        part = frame[frame["measure"] == measure].set_index("row").reindex(rows)
        heights = range(len(rows))
        errors = [(part["ours"] - part["low"]).clip(lower=0), (part["high"] - part["ours"]).clip(lower=0)]
        ours = axes.errorbar(part["ours"], heights, xerr=errors, fmt="o", color="#0072b2", markersize=5, capsize=2)
        paper, = axes.plot(part["paper"], heights, "D", color="#d55e00", markersize=5, fillstyle="none")
        top = part[["high", "paper"]].max(axis=None)
        axes.set(ylim=(len(rows) - 0.5, -0.5), xlim=(0, top * 1.05 if top > 100 else 105))
        axes.set_title(measure, fontsize=10)
        axes.set_yticks(heights, rows, fontsize=8)
        axes.grid(axis="x", alpha=0.3)
    for axes in panels.flat[len(measures):]:
        axes.remove()
    figure_.suptitle(title, fontsize=11)
    figure_.legend([ours, paper], ["ours, with 95 % interval", "paper"], loc="outside lower center", ncols=2,
                   fontsize=8)
    plt.close(figure_)
    return figure_


def _row(experiment: Experiment) -> str:
    return f"{STORY_RULES[experiment.rule]}: {experiment.row}" if experiment.rule in STORY_RULES else experiment.row


def _ours(line) -> str:
    if line is None or pandas.isna(line.ours):
        return ""
    return f"{line.ours:.1f} [{line.low:.1f}, {line.high:.1f}]"


def _paper(line) -> str:
    return "" if line is None or pandas.isna(line.paper) else f"{line.paper:.1f}"


def _difference(line) -> str:
    if line is None or pandas.isna(line.ours) or pandas.isna(line.paper):
        return ""
    return f"{line.ours - line.paper:+.1f}"


def _source_and_sizes(data: dict[str, dict]) -> str:
    """Where the data is from and how many examples each split has."""
    sources = ", ".join(dict.fromkeys(part["source"] for part in data.values()))
    return f"{sources}: " + ", ".join(f"{split} {part['examples']:,}" for split, part in data.items())
