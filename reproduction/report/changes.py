"""How the figures of a run differ from those that came with the clone: one table, and whether the outcome is the same.

Trainings repeat to the last digit on one kind of processor. On another the figures move a little; what must not move is
which claims hold.
"""

import subprocess
from pathlib import Path

from reproduction.files import ROOT
from reproduction.metrics import Missing
from reproduction.report import claims, tables
from reproduction.report.run_files import mean, parse_run, read_runs

LEAST = 0.05  # points: what a figure with one decimal can show


def committed_runs(results: Path, root: Path = ROOT) -> dict[str, list[dict]]:
    """The run files of the last commit, by experiment; empty outside of a git clone."""
    def git(*arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, encoding="utf-8")
        return done.stdout if done.returncode == 0 else ""

    folder = (Path(results) / "runs").relative_to(root).as_posix()
    try:
        names = git("ls-tree", "--name-only", "HEAD", f"{folder}/").splitlines()
        runs = [parse_run(git("show", f"HEAD:{name}"), name) for name in names if name.endswith(".json")]
    except OSError:  # no git
        return {}
    found: dict[str, list[dict]] = {}
    for run in sorted(runs, key=lambda run: run["seed"]):
        found.setdefault(run["experiment"], []).append(run)
    return found


def described(before: dict[str, list[dict]], after: dict[str, list[dict]]) -> list[str]:
    """The comparison in lines: a table of the figures that differ, then what that means for the claims."""
    if not before:
        return []
    rows, same = [], 0
    figures = [(experiment, measure) for table in tables.TABLES.values() for experiment in tables.experiments_in(table)
               for measure in table.measures]
    for experiment, measure in dict.fromkeys(figures):
        then, now = (mean(runs.get(experiment, []), measure) for runs in (before, after))
        if isinstance(then, Missing) or isinstance(now, Missing):
            continue
        if abs(now - then) < LEAST:
            same += 1
        else:
            rows.append(f"  {experiment:28} {measure:16} {then:7.1f} {now:7.1f} {now - then:+7.1f}")
    outcomes = [(old, new) for old, new in zip(claims.judge_runs(before), claims.judge_runs(after), strict=True)
                if old.outcome != new.outcome]
    head = [f"  {'experiment':28} {'measure':16} {'then':>7} {'now':>7} {'change':>7}"] if rows else []
    lines = [f"Compared with the results that came with this clone, {same} figures are the same and {len(rows)} "
             "differ.", *head, *rows]
    if not outcomes:
        return [*lines, f"Same outcome: {claims.summary(claims.judge_runs(after))}, as before."]
    return [*lines, "Not the same outcome:",
            *(f"  {new.claim.says}: {old.verdict} then, {new.verdict} now ({new.found})" for old, new in outcomes)]


def compare(results: Path, root: Path = ROOT) -> list[str]:
    """The comparison of a profile's run files with the committed ones, if there are any."""
    before = committed_runs(results, root)
    return described(before, read_runs(results)) if before else []
