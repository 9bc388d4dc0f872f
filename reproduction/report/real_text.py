"""What was run on real text, for README.md and docs/: the profiles `small` and `mini` beside the paper."""

from collections.abc import Iterable
from pathlib import Path

from reproduction.experiments import STORY_RULES, enforced_name
from reproduction.metrics import Missing
from reproduction.report import any_table, claims, paper_figures
from reproduction.report.any_table import csr_of
from reproduction.report.run_files import mean, read_runs
from reproduction.report.tables import seeds_of, step_range

ZERO_SHOT = "zeroshot"
RULES = STORY_RULES | {ZERO_SHOT: "zero-shot sentence index"}
NOT_RUN = "Not run yet."
WIDEST = 8  # evaluations that a table of learning curves has room for
CONCEPT_ROWS = (("T5", "commongen-t5-base"), ("T5 + grid beam search", "commongen-t5-base-grid"),
                ("NRETM, P_c", "commongen-t5-base-pc"), ("NRETM, P̂_c", "commongen-t5-base-pc-hat"))


def made_with(task: str, runs: dict[str, list[dict]], names: Iterable[str]) -> str:
    """Model, steps, hardware and seeds of some runs in a sentence."""
    made = [run for name in names for run in runs.get(name, [])]
    model, hardware = made[0]["settings"]["model"], made[0]["hardware"]
    threads = "one thread" if hardware["threads"] == 1 else f"{hardware['threads']} threads"
    where = hardware["gpu"] or f"{threads} of an {hardware['cpu']}"
    return (f"{task} with {model} ({made[0]['parameters']['total'] / 1e6:.0f} million parameters): "
            f"{_steps(made)} on {where}, {seeds_of(made)}.")


def _steps(made: list[dict]) -> str:
    """How many steps of how many examples."""
    settings = made[0]["settings"]
    return f"{step_range(made)} steps of {settings['batch'] * settings['accumulation']}"


def concepts(results: Path, profile: str) -> str:
    """Concepts covered and quality, free and enforced, beside the paper's."""
    runs = read_runs(results.parent / profile)
    lines = ["| | concepts covered | CIDEr | enforced: covered | CIDEr | paper: covered | CIDEr |", f"|{'---|' * 7}"]
    for title, name in CONCEPT_ROWS:
        figures = [_shown(mean(runs.get(run, []), measure)) for run in (name, enforced_name(name))
                   for measure in ("ALL", "CIDEr")]
        paper = [str(paper_figures.TABLE2[name][measure]) for measure in ("ALL", "CIDEr")]
        lines.append(f"| {title} | {' | '.join(figures + paper)} |")
    return "\n".join([made_with("CommonGen", runs, [name for _, name in CONCEPT_ROWS]), "", *lines])


def curves(results: Path, profile: str) -> str:
    """CIDEr and loss on dev while the models of concepts were trained."""
    return _curves(read_runs(results.parent / profile), CONCEPT_ROWS, "CIDEr")


def story_curves(results: Path) -> str:
    """CSR and loss on dev while the models of stories were trained."""
    rows = [(f"{title}, {model}", f"{rule}-{name}") for rule, title in RULES.items()
            for model, name in (("T5", "t5"), ("NRETM", "nretm"))]
    return _curves(read_runs(results.parent / "mini"), rows, "CSR")


def any_curves(results: Path) -> str:
    """CSR and loss on dev while the models for any rule were trained."""
    rows = [("T5, any rule", "any-t5"), ("NRETM, any rule", "any-nretm")]
    return _curves(read_runs(results.parent / "mini"), rows, "CSR")


def _curves(runs: dict, rows: Iterable[tuple[str, str]], measure: str) -> str:
    logs = {title: {row["step"]: row for row in runs[name][0]["log"] if f"dev {measure}" in row}
            for title, name in rows if name in runs and "log" in runs[name][0]}
    steps = sorted(set().union(*logs.values()))
    steps = steps[::-1][::-(-len(steps) // WIDEST)][::-1]  # with the last
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
    anyone = [_shown(mean(runs.get(name, []), csr_of("any", enforced))) for enforced in (False, True)
              for name in ("any-t5", "any-nretm")]
    lines.append(f"| any rule, one model for all | CSR | {' | '.join(anyone)} | | |")
    on_stories = made_with("ROCStories", runs, [f"{rule}-{model}" for rule in RULES for model in ("t5", "nretm")])
    concepts = runs["commongen-t5-base"]
    how = f"{on_stories.removesuffix('.')}. CommonGen: {_steps(concepts)}, {seeds_of(concepts)}."
    return "\n".join([how, "", *lines, "", f"{claims.summary(_judged(results))}."])


def any_rule(results: Path) -> str:
    """One model for any rule of real stories: every kind of rule, and what holds."""
    frame = any_table.build(results.parent / "mini")
    return f"{any_table.markdown(frame)}\n" + "\n".join(f"- {found}" for found in any_table.findings(frame))


def talks(results: Path) -> str:
    """Documents of talks, translated by a Marian model, free and enforced, beside the paper's mBART."""
    runs, names = read_runs(results.parent / "small"), ("ted15-mbart", "ted15-mbart-pc")
    if names[0] not in runs:
        return NOT_RUN
    lines = ["| measure | Marian | with NRETM | enforced: Marian | with NRETM | paper: mBART | with NRETM |",
             f"|{'---|' * 7}"]
    for measure in ("s-BLEU", "d-BLEU", "SAR"):
        ours = [_shown(mean(runs.get(name, []), measure)) for name in (*names, *map(enforced_name, names))]
        lines.append(f"| {measure} | {' | '.join([*ours, *(str(_published(name)[measure]) for name in names)])} |")
    data = runs[names[0]][0]["data"]
    return "\n".join([f"{made_with('Documents', runs, names)} They are {data['train']['examples']} documents from "
                      f"{data['train']['rows']} talks, and {data['test']['examples']} from {data['test']['rows']} "
                      "others to be tested on.", "", *lines])


def verdicts(results: Path) -> str:
    """Every claim, judged on what was run of real text."""
    judged = _judged(results)
    return f"{claims.summary(judged)}.\n\n{claims.markdown(judged)}".strip()


def stories(results: Path, profile: str) -> str:
    """What was run of a profile, rule by rule and measure by measure, beside the paper's figures."""
    runs = read_runs(results.parent / profile)
    lines = ["| rule | measure | T5 | NRETM | NRETM, enforced | paper: T5 | paper: NRETM |", f"|{'---|' * 7}"]
    for rule, title in RULES.items():
        names = [f"{rule}-t5", f"{rule}-nretm"]
        for measure in _published(names[1]) if any(runs.get(name) for name in names) else ():
            ours = [_shown(mean(runs.get(name, []), measure)) for name in (*names, enforced_name(names[1]))]
            paper = [str(_published(name)[measure]) for name in names]
            lines.append(f"| {title} | {measure} | {' | '.join(ours + paper)} |")
    trained = [f"{rule}-{model}" for rule in RULES for model in ("t5", "nretm") if f"{rule}-{model}" in runs]
    return "\n".join([made_with("Stories", runs, trained), "", *lines]) if trained else NOT_RUN


def _published(name: str) -> dict[str, float]:
    tables = (paper_figures.TABLE1, paper_figures.TABLE2, paper_figures.TABLE3, paper_figures.TABLE4,
              paper_figures.TABLE_A, paper_figures.TABLE_B)
    return {measure: figure for table in tables for measure, figure in table.get(name, {}).items()}


def _judged(results: Path) -> list[claims.Judgement]:
    """On `mini`, which is the further of the two; what `small` says of concepts stands in its own claims.md."""
    return claims.judge_runs(read_runs(results.parent / "mini"))


def _shown(figure: float | Missing) -> str:
    return "" if isinstance(figure, Missing) else f"{figure:.1f}"
