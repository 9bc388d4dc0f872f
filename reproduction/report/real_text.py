"""What was run on real text, for README.md and docs/: the profiles `small` and `mini` beside the paper."""

from collections.abc import Iterable
from pathlib import Path

from reproduction.experiments import STORY_RULES, enforced_name
from reproduction.metrics import Missing
from reproduction.report import claims, paper_figures
from reproduction.report.run_files import mean, read_runs

ZERO_SHOT = "zeroshot"
RULES = STORY_RULES | {ZERO_SHOT: "zero-shot sentence index"}
CONCEPT_ROWS = (("T5", "commongen-t5-base"), ("T5 + grid beam search", "commongen-t5-base-grid"),
                ("NRETM, P_c", "commongen-t5-base-pc"), ("NRETM, P̂_c", "commongen-t5-base-pc-hat"))


def made_with(task: str, model: str, made: dict) -> str:
    """Model and steps of a run in a phrase."""
    return (f"{task} with {model} ({made['parameters']['total'] / 1e6:.0f} million parameters): "
            f"{made['steps']:,} steps of {made['settings']['batch']}")


def made_on(made: dict) -> str:
    """The hardware of a run in a phrase."""
    hardware = made["hardware"]
    threads = "one thread" if hardware["threads"] == 1 else f"{hardware['threads']} threads"
    return f"on {hardware['gpu'] or threads + ' of an ' + hardware['cpu']}"


def concepts(results: Path, profile: str) -> str:
    """Concepts covered and quality, free and enforced, beside the paper's."""
    runs = read_runs(results.parent / profile)
    lines = ["| | concepts covered | CIDEr | enforced: covered | CIDEr | paper: covered | CIDEr |", f"|{'---|' * 7}"]
    for title, name in CONCEPT_ROWS:
        figures = [_shown(mean(runs.get(run, []), measure)) for run in (name, enforced_name(name))
                   for measure in ("ALL", "CIDEr")]
        paper = [str(paper_figures.TABLE2[name][measure]) for measure in ("ALL", "CIDEr")]
        lines.append(f"| {title} | {' | '.join(figures + paper)} |")
    made = runs["commongen-t5-base"][0]
    return "\n".join([f"{made_with('CommonGen', made['settings']['model'], made)} {made_on(made)}.", "", *lines])


def curves(results: Path, profile: str) -> str:
    """CIDEr and loss on dev while the models of concepts were trained."""
    return _curves(read_runs(results.parent / profile), CONCEPT_ROWS, "CIDEr")


def story_curves(results: Path) -> str:
    """CSR and loss on dev while the models of stories were trained."""
    rows = [(f"{title}, {model}", f"{rule}-{name}") for rule, title in RULES.items()
            for model, name in (("T5", "t5"), ("NRETM", "nretm"))]
    return _curves(read_runs(results.parent / "mini"), rows, "CSR")


def _curves(runs: dict, rows: Iterable[tuple[str, str]], measure: str) -> str:
    logs = {title: {row["step"]: row for row in runs[name][0]["log"] if f"dev {measure}" in row}
            for title, name in rows if name in runs and "log" in runs[name][0]}
    steps = sorted(set().union(*logs.values()))
    lines = [f"| dev: {measure} (loss) | {' | '.join(f'step {step}' for step in steps)} |",
             f"|{'---|' * (len(steps) + 1)}"]
    for title, log in logs.items():
        cells = [f"{log[step][f'dev {measure}']:.1f} ({log[step]['dev loss']:.2f})" if step in log else ""
                 for step in steps]
        lines.append(f"| {title} | {' | '.join(cells)} |")
    return "\n".join(lines)


def result(results: Path) -> str:
    """Rules and concepts by their main measures: T5 and NRETM, free and enforced, beside the paper's; the claims."""
    runs = read_runs(results.parent / "mini")
    lines = ["| | measure | T5 | NRETM | enforced: T5 | NRETM | paper: T5 | NRETM |", f"|{'---|' * 8}"]
    rows = [(title, "CSA" if rule == ZERO_SHOT else "CSR", [f"{rule}-t5", f"{rule}-nretm"])
            for rule, title in RULES.items()]
    rows += [(f"{title} (P̂_c)", measure, ["commongen-t5-base", "commongen-t5-base-pc-hat"])
             for title, measure in (("concepts covered", "ALL"), ("sentences from concepts", "CIDEr"))]
    for title, measure, names in rows:
        ours = [_shown(mean(runs.get(name, []), measure)) for name in (*names, *map(enforced_name, names))]
        paper = [str(_published(name)[measure]) for name in names]
        lines.append(f"| {title} | {measure} | {' | '.join(ours + paper)} |")
    stories, sets = runs["r1-t5"][0], runs["commongen-t5-base"][0]
    how = (f"{made_with('ROCStories and CommonGen', 'a T5 of our own', stories)} and {sets['settings']['batch']} "
           f"{made_on(stories)}.")
    return "\n".join([how, "", *lines, "", f"{claims.summary(_judged(results))}."])


def verdicts(results: Path) -> str:
    """Every claim, judged on what was run of real text."""
    judged = _judged(results)
    return f"{claims.summary(judged)}.\n\n{claims.markdown(judged)}".strip()


def stories(results: Path) -> str:
    """What was run of `mini`, rule by rule and measure by measure, beside the paper's figures."""
    runs = read_runs(results.parent / "mini")
    lines = ["| rule | measure | T5 | NRETM | NRETM, enforced | paper: T5 | paper: NRETM |", f"|{'---|' * 7}"]
    for rule, title in RULES.items():
        names = [f"{rule}-t5", f"{rule}-nretm"]
        for measure in _published(names[1]) if any(runs.get(name) for name in names) else ():
            ours = [_shown(mean(runs.get(name, []), measure)) for name in (*names, enforced_name(names[1]))]
            paper = [str(_published(name)[measure]) for name in names]
            lines.append(f"| {title} | {measure} | {' | '.join(ours + paper)} |")
    return "\n".join(lines)


def _published(name: str) -> dict[str, float]:
    tables = (paper_figures.TABLE1, paper_figures.TABLE2, paper_figures.TABLE4, paper_figures.TABLE_A,
              paper_figures.TABLE_B)
    return {measure: figure for table in tables for measure, figure in table.get(name, {}).items()}


def _judged(results: Path) -> list[claims.Judgement]:
    """On `mini`, which is the further of the two; what `small` says of concepts stands in its own claims.md."""
    return claims.judge_runs(read_runs(results.parent / "mini"))


def _shown(figure: float | Missing) -> str:
    return "" if isinstance(figure, Missing) else f"{figure:.1f}"
