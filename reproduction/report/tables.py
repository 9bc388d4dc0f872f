"""The paper's tables beside ours, built from run files alone (paper, section 3 and appendix).

    frame = tables.build("table1", "results/demo")   # one line per figure: ours, its interval, the paper's
    tables.shown(frame)                               # as it is read: the plain model against NRETM
    tables.save(frame, "table1", "results/demo")      # CSV and Markdown
    tables.plot(frame)                                # the same as a picture

The result of the paper is a difference: that between a model and the same model with NRETM. So a line shows both.
A figure that was not measured is an empty cell with its reason; the paper's are never filled in for ours.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pandas

from reproduction.experiments import EXPERIMENTS, STORY_RULES, Experiment, enforced_name, of_table
from reproduction.files import write_whole
from reproduction.metrics import Missing
from reproduction.report import paper_figures
from reproduction.report.run_files import figure, mean, read_runs

BLUE, ORANGE = "#0072b2", "#d55e00"  # the plain model, and what is compared with it
GREEN = "#009e73"  # that, with the rule enforced
INTERVALS = ("Brackets hold 95 % bootstrap intervals over the test examples, and over seeds where several were run. "
             "An empty cell was not run or could not be measured.")
ENFORCED = "Enforced: the same model, decoded so that it cannot break its rule (docs/enforcement.md)."
NOT_COMPARABLE = "The text is built in, so its figures compare with each other, not with the paper's."


@dataclass(frozen=True)
class Table:
    """What a table shows: its title, its measures, and the paper's figures by experiment.

    rows          what its rows are
    plain, other  what the two models are called that a row compares
    flat          a row of the picture per measure, for measures that are all alike
    """

    title: str
    measures: tuple[str, ...]
    paper: dict[str, dict[str, float]]
    rows: str = "rule"
    plain: str = "T5"
    other: str = "NRETM"
    flat: bool = False


TABLES = {
    "table1": Table("Table 1: five rules on ROCStories", ("CSR", "ROUGE-L"), paper_figures.TABLE1),
    "tableA": Table("Table A: near misses", ("CSR", "CSR ±1", "CSR ±2"), paper_figures.TABLE_A),
    "tableB": Table("Table B: every predicate on its own", ("InSen_i", "InSen_j", "not InSen_j", "Len_i",
                    "StopWordCount_i", "Len_j", "StopWordCount_j"), paper_figures.TABLE_B, flat=True),
    "table2": Table("Table 2: CommonGen", ("CIDEr", "SPICE", "Seen", "Novel", "ALL"), paper_figures.TABLE2,
                    rows="model", other="with it"),
    "table3": Table("Table 3: document translation", ("s-BLEU", "d-BLEU", "SAR"), paper_figures.TABLE3,
                    rows="model", plain="mBART"),
    "table4": Table("Table 4: zero-shot sentence index", ("CSA", "MR", "ROUGE-L", "five sentences"),
                    paper_figures.TABLE4),
}


def experiments_in(table: Table) -> list[str]:
    """The paper's rows and, for what ours has besides, their models decoded with the rule enforced."""
    return [*table.paper, *(name for key in table.paper if (name := enforced_name(key)) in EXPERIMENTS)]


def build(name: str, results: str | Path) -> pandas.DataFrame:
    """One line per figure of a table; ours are over all seeds that were run."""
    table, runs = TABLES[name], read_runs(results)
    lines = []
    for key in experiments_in(table):
        experiment, paper = EXPERIMENTS[key], table.paper.get(key, {})
        baseline = _baseline(experiment)
        for measure in table.measures:
            ours, plain = figure(runs.get(key, []), measure), mean(runs.get(baseline.name, []), measure)
            line = {"experiment": key, "baseline": baseline.name if baseline is not experiment else "",
                    "row": _row(experiment), "measure": measure, "paper": paper.get(measure)}
            if isinstance(ours, Missing):
                line |= {"missing": ours.reason}
            else:
                line |= {"ours": ours.value, "low": ours.low, "high": ours.high, "seeds": ours.seeds, "n": ours.n}
                if baseline is not experiment and not isinstance(plain, Missing):
                    line["difference"] = ours.value - plain
            if measure in paper or "ours" in line:
                lines.append(line)
    columns = ["experiment", "baseline", "row", "measure", "ours", "low", "high", "difference", "paper", "seeds", "n",
               "missing"]
    frame = pandas.DataFrame(lines, columns=columns)
    made = [run for key in experiments_in(table) for run in runs.get(key, [])]
    frame.attrs = {"table": name, "real": any(run["data"]["test"]["source"] != "builtin" for run in made),
                   "models": _models(made) if made else ""}
    return frame


def _models(made: list[dict]) -> str:
    """What ours were made with, in a sentence: on real text they stand beside the paper's larger models."""
    sizes = {run["settings"]["model"]: run["parameters"]["total"] for run in made}
    return (f"Ours: {', '.join(f'{model} ({size / 1e6:.0f} million parameters)' for model, size in sizes.items())}, "
            f"{step_range(made)} steps, {seeds_of(made)}.")


def step_range(made: list[dict]) -> str:
    """The fewest and the most steps of some runs."""
    steps = [run["steps"] for run in made]
    return " to ".join(f"{number:,}" for number in dict.fromkeys((min(steps), max(steps))))


def seeds_of(made: list[dict]) -> str:
    """How many seeds some runs are of, and of which rules there are more than of the others."""
    numbers = Counter(run["experiment"] for run in made)
    by_rule: dict[str, set[int]] = {}
    for name, number in numbers.items():
        by_rule.setdefault(_rule(name), set()).add(number)
    said = []
    for number in sorted(set(numbers.values()), reverse=True):
        names = ", ".join(dict.fromkeys(_rule(name) if len(by_rule[_rule(name)]) == 1 else name
                                        for name in numbers if numbers[name] == number))
        said.append(f"{number} seeds of {names}" if number > 1 else "one seed of the others" if said else "one seed")
    return "; ".join(said) if len(said) > 1 else said[0].partition(" of ")[0]


def _rule(name: str) -> str:
    """What a rule of stories is called, whichever model is asked to obey it; other experiments by their names."""
    experiment, titles = EXPERIMENTS[name], {**STORY_RULES, "zeroshot": "the zero-shot index"}
    if experiment.rule not in titles:
        return name
    return f"{titles[experiment.rule]}{', enforced' if experiment.enforced else ''}"


def _baseline(experiment: Experiment) -> Experiment:
    """The plain model that an experiment is compared with: itself if it is one."""
    return next(other for other in of_table(experiment.table)
                if not other.tracked and other.base == experiment.base and other.rule in (experiment.rule, "copy"))


def _row(experiment: Experiment) -> str:
    return {**STORY_RULES, "zeroshot": "sentences 1 and 2"}.get(experiment.rule, experiment.row)


@dataclass(frozen=True)
class Line:
    """One line of a table: a measure of the plain model and of what is compared with it; lines of `build`, or None.

    forced  both again, with the rule enforced
    """

    row: str
    measure: str
    plain: object
    other: object
    forced: tuple[object, object]


def lines(frame: pandas.DataFrame) -> list[Line]:
    by_key = {(line.experiment, line.measure): line for line in frame.itertuples()}
    compared = dict.fromkeys((line.experiment, line.baseline) for line in frame.itertuples()
                             if line.baseline and not EXPERIMENTS[line.experiment].enforced)
    found = []
    for experiment, baseline in compared:
        for measure in TABLES[frame.attrs["table"]].measures:
            plain, other = by_key.get((baseline, measure)), by_key.get((experiment, measure))
            forced = tuple(by_key.get((enforced_name(name), measure)) for name in (baseline, experiment))
            if plain or other:
                found.append(Line((other or plain).row, measure, plain, other, forced))
    return found


def shown(frame: pandas.DataFrame) -> pandas.DataFrame:
    """The table as it is read. How far ours is from the paper's is shown on real text only."""
    table = TABLES[frame.attrs["table"]]
    gap = f"{table.other} − {table.plain}"
    rows, before, found = [], None, lines(frame)
    forced = any(any(line.forced) for line in found)
    for line in found:
        cells = {("", table.rows): line.row if line.row != before else "", ("", "measure"): line.measure}
        cells |= {("ours", table.plain): _ours(line.plain), ("ours", table.other): _ours(line.other),
                  ("ours", gap): _signed(line.other.difference if line.other else None)}
        if forced:
            cells |= {("ours, enforced", name): _number(side.ours if side else None)
                      for name, side in zip((table.plain, table.other), line.forced, strict=True)}
        paper = [None if side is None else side.paper for side in (line.plain, line.other)]
        cells |= {("paper", table.plain): _number(paper[0]), ("paper", table.other): _number(paper[1]),
                  ("paper", gap): _signed(_minus(paper[1], paper[0]))}
        if frame.attrs["real"]:
            cells |= {("ours − paper", name): _signed(None if side is None else _minus(side.ours, side.paper))
                      for name, side in ((table.plain, line.plain), (table.other, line.other))}
        rows.append(cells)
        before = line.row
    shown_ = pandas.DataFrame(rows)
    shown_.columns = pandas.MultiIndex.from_tuples(shown_.columns)
    return shown_


def legend(frame: pandas.DataFrame) -> list[str]:
    """What a reader has to know of a table, in sentences."""
    enforced = [ENFORCED] if any(any(line.forced) for line in lines(frame)) else []
    return [INTERVALS, *enforced, *([] if frame.attrs["real"] else [NOT_COMPARABLE]), *notes(frame)]


def notes(frame: pandas.DataFrame) -> list[str]:
    """What has to be said below a table: rows that the paper quotes from others, and why cells are empty."""
    quoted = paper_figures.QUOTED.get(frame.attrs["table"], {})
    said = [f"{row} (quoted by the paper): " + ", ".join(f"{measure} {value}" for measure, value in figures.items())
            for row, figures in quoted.items()]
    if frame.attrs["real"]:
        said.insert(0, frame.attrs["models"])
    reasons = frame.dropna(subset="missing").groupby("missing", sort=False)
    return said + [f"{', '.join(dict.fromkeys(part['measure']))} of {_all_or(part['experiment'], frame)}: {reason}"
                   for reason, part in reasons]


def _all_or(names: pandas.Series, frame: pandas.DataFrame) -> str:
    found = list(dict.fromkeys(names))
    return "every row" if len(found) == frame["experiment"].nunique() else ", ".join(found)


def markdown(frame: pandas.DataFrame) -> str:
    """The table and its notes as Markdown."""
    table = shown(frame)
    head = [f"{group}: {name}" if group else name for group, name in table.columns]
    rows = [head, ["---"] * len(head), *table.values.tolist()]
    body = "".join(f"| {' | '.join(cells)} |\n" for cells in rows)
    return body + "".join(f"\n{note}\n" for note in notes(frame))


def provenance(name: str, results: str | Path) -> pandas.DataFrame:
    """What each run of a table was made with: split, counts, model, steps, seed, versions, hardware, time, command."""
    found = [run for key in experiments_in(TABLES[name]) for run in read_runs(results).get(key, [])]
    return pandas.DataFrame([{
        "experiment": run["experiment"], "seed": run["seed"], "split": run["split"],
        "data": _source_and_sizes(run["data"]), "model": run["settings"]["model"], "steps": run["steps"],
        "batch": run["settings"]["batch"], "minutes": _minutes(run),
        "hardware": run["hardware"]["gpu"] or run["hardware"]["cpu"],
        "torch": run["versions"]["torch"], "transformers": run["versions"]["transformers"],
        "commit": (run["commit"] or "")[:9], "command": run["command"]} for run in found])


def _minutes(run: dict) -> str:
    """How long a run took; of one that was stopped, only what came after it had resumed is known."""
    resumed = run.get("resumed_from")
    return f"{run['seconds']['total'] / 60:.1f}" + (f" from step {resumed}" if resumed else "")


def save(frame: pandas.DataFrame, name: str, results: str | Path) -> None:
    """Write a table as CSV (every figure with its interval) and as Markdown (as it is read)."""
    folder = Path(results) / "tables"
    write_whole(folder / f"{name}.csv", frame.round(3).to_csv(index=False))
    write_whole(folder / f"{name}.md", f"{TABLES[name].title}\n\n{markdown(frame)}")


def plot(frame: pandas.DataFrame):
    """Dumbbells: the plain model and NRETM joined by a line, the paper's as hollow marks below; scales from zero."""
    import matplotlib.pyplot as plt

    table, found = TABLES[frame.attrs["table"]], lines(frame)
    measures = [None] if table.flat else list(dict.fromkeys(line.measure for line in found))
    rows = list(dict.fromkeys(_label(line, table) for line in found))
    figure_, panels = plt.subplots(1, len(measures), sharey=True, squeeze=False, layout="constrained",
                                   figsize=(max(7.5, min(2.6 + 2.4 * len(measures), 12)), 1.4 + 0.44 * len(rows)))
    for axes, measure in zip(panels.flat, measures, strict=True):
        top = 100.0
        for line in found:
            if measure in (None, line.measure):
                top = max(top, _dumbbell(axes, rows.index(_label(line, table)), line))
        axes.set(ylim=(len(rows) - 0.4, -0.6), xlim=(0, top * 1.04))
        axes.set_title(measure or "obeyed, %", fontsize=10)
        axes.set_yticks(range(len(rows)), rows, fontsize=9)
        axes.grid(axis="x", alpha=0.3)
    made_with = textwrap.fill(frame.attrs["models"], 80) if frame.attrs["real"] else ""
    figure_.suptitle(f"{table.title}\n{made_with}".strip(), fontsize=11)
    handles = [plt.Line2D([], [], color=color, marker="o", linestyle="", label=f"{name}, {whose}",
                          fillstyle="full" if whose == "ours" else "none")
               for whose in ("ours", "paper") for name, color in ((table.plain, BLUE), (table.other, ORANGE))]
    if any(line.forced[1] for line in found):
        handles.insert(2, plt.Line2D([], [], color=GREEN, marker="D", linestyle="", markersize=5,
                                     label=f"{table.other}, ours, enforced"))
    figure_.legend(handles=handles, loc="outside lower center", ncols=5, fontsize=9, frameon=False)
    plt.close(figure_)
    return figure_


def _dumbbell(axes, height: float, line: Line) -> float:
    """Draw one; the largest figure in it."""
    sides = [(side, color) for side, color in ((line.plain, BLUE), (line.other, ORANGE)) if side is not None]
    for key, y, style in (("ours", height - 0.12, "-"), ("paper", height + 0.2, ":")):
        values = [getattr(side, key) for side, _ in sides]
        axes.plot(values, [y] * len(values), style, color="#888888", linewidth=2 if key == "ours" else 1, zorder=1)
        for (side, color), value in zip(sides, values, strict=True):
            if key == "ours":
                axes.plot([side.low, side.high], [y, y], color=color, linewidth=1, alpha=0.8, zorder=2)
            axes.plot(value, y, "o", color=color, fillstyle="full" if key == "ours" else "none",
                      markersize=7 if key == "ours" else 5, zorder=3)
    if line.forced[1]:
        axes.plot(line.forced[1].ours, height - 0.12, "D", color=GREEN, markersize=5, zorder=4)
    values = [value for side, _ in sides for value in (side.ours, side.high, side.paper)]
    return max(pandas.Series([*values, line.forced[1].ours if line.forced[1] else 0]).max(), 0)


def _label(line: Line, table: Table) -> str:
    return f"{line.row}: {line.measure}" if table.flat else line.row


def _ours(line) -> str:
    if line is None or pandas.isna(line.ours):
        return ""
    return f"{line.ours:.1f} [{line.low:.1f}, {line.high:.1f}]"


def _number(value) -> str:
    return "" if value is None or pandas.isna(value) else f"{value:.1f}"


def _minus(a, b):
    return None if a is None or b is None else a - b


def _signed(value) -> str:
    return "" if value is None or pandas.isna(value) else f"{value:+.1f}"


def _source_and_sizes(data: dict[str, dict]) -> str:
    """Where the data is from and how many examples each split has."""
    sources = ", ".join(dict.fromkeys(part["source"] for part in data.values()))
    return f"{sources}: " + ", ".join(f"{split} {part['examples']:,}" for split, part in data.items())
