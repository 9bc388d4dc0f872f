"""What was run on real text, for README.md and docs/: the profiles `small` and `mini` beside the paper."""

from pathlib import Path

from reproduction.experiments import STORY_RULES, enforced_name
from reproduction.metrics import Missing
from reproduction.report import claims, paper_figures
from reproduction.report.run_files import mean, read_runs

CONCEPT_ROWS = (("T5", "commongen-t5-base"), ("T5 + grid beam search", "commongen-t5-base-grid"),
                ("NRETM, P_c", "commongen-t5-base-pc"), ("NRETM, P̂_c", "commongen-t5-base-pc-hat"))


def made_with(results: Path) -> str:
    """Model, steps and hardware in a sentence."""
    runs = read_runs(results.parent / "small")
    made = runs["commongen-t5-base"][0]
    settings, hardware = made["settings"], made["hardware"]
    threads = "one thread" if hardware["threads"] == 1 else f"{hardware['threads']} threads"
    return (f"CommonGen with {settings['model']} ({made['parameters']['total'] / 1e6:.0f} million parameters): "
            f"{made['steps']} steps of {settings['batch']} sentences on "
            f"{hardware['gpu'] or threads + ' of an ' + hardware['cpu']}.")


def concepts(results: Path) -> str:
    """Concepts covered and quality, free and enforced, beside the paper's."""
    runs = read_runs(results.parent / "small")
    lines = ["| | concepts covered | CIDEr | enforced: covered | CIDEr | paper: covered | CIDEr |", f"|{'---|' * 7}"]
    for title, name in CONCEPT_ROWS:
        figures = [_shown(mean(runs.get(run, []), measure)) for run in (name, enforced_name(name))
                   for measure in ("ALL", "CIDEr")]
        paper = [str(paper_figures.TABLE2[name][measure]) for measure in ("ALL", "CIDEr")]
        lines.append(f"| {title} | {' | '.join(figures + paper)} |")
    return "\n".join([made_with(results), "", *lines, "", f"{claims.summary(_judged(results))}."])


def curves(results: Path) -> str:
    """CIDEr and loss on dev while the models were trained."""
    runs = read_runs(results.parent / "small")
    logs = {title: {row["step"]: row for row in runs[name][0]["log"] if "dev CIDEr" in row}
            for title, name in CONCEPT_ROWS if name in runs and "log" in runs[name][0]}
    steps = sorted(set().union(*logs.values()))
    lines = [f"| dev: CIDEr (loss) | {' | '.join(f'step {step}' for step in steps)} |", f"|{'---|' * (len(steps) + 1)}"]
    for title, log in logs.items():
        cells = [f"{log[step]['dev CIDEr']:.1f} ({log[step]['dev loss']:.2f})" if step in log else "" for step in steps]
        lines.append(f"| {title} | {' | '.join(cells)} |")
    return "\n".join(lines)


def verdicts(results: Path) -> str:
    """Every claim, judged on what was run of real text."""
    judged = _judged(results)
    return f"{claims.summary(judged)}.\n\n{claims.markdown(judged)}".strip()


def stories(results: Path) -> str:
    """What was run of `mini`, rule by rule and measure by measure, beside the paper's figures."""
    runs = read_runs(results.parent / "mini")
    lines = ["| rule | measure | T5 | NRETM | NRETM, enforced | paper: T5 | paper: NRETM |", f"|{'---|' * 7}"]
    for rule, title in STORY_RULES.items():
        names = [f"{rule}-t5", f"{rule}-nretm"]
        paper = {name: paper_figures.TABLE1[name] | paper_figures.TABLE_A.get(name, {})
                 | paper_figures.TABLE_B.get(name, {}) for name in names}
        for measure in paper[names[1]] if any(runs.get(name) for name in names) else ():
            ours = [_shown(mean(runs.get(name, []), measure)) for name in (*names, enforced_name(names[1]))]
            lines.append(f"| {title} | {measure} | {' | '.join(ours)} | "
                         f"{' | '.join(str(paper[name][measure]) for name in names)} |")
    return "\n".join(lines)


def _judged(results: Path) -> list[claims.Judgement]:
    return claims.judge_runs(read_runs(results.parent / "mini") | read_runs(results.parent / "small"))


def _shown(figure: float | Missing) -> str:
    return "" if isinstance(figure, Missing) else f"{figure:.1f}"
