"""The paper's experiments, named in one place: what is trained (or only decoded), and which table reads it.

Training, the tables and run_all.sh all go by these names. Nothing is imported here that has to be installed.
"""

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Experiment:
    """One row of one of the paper's tables.

    name       as in `--only`, in file names and in run files
    table      the table that it is a row of; Tables A and B are computed from Table 1's R1, R2 and R3
    row        what the paper calls the row
    task       as reproduction.data.load knows it, with the `rule` to make of it
    base       which pretrained model of the profile it starts from: t5-base, t5-large or mbart
    tracked    with NRETM, or without (the baseline reads the same input expression)
    probe      what the trained model is asked besides, as reproduction.probes knows it
    shipped    its trained model comes with the repository: run_all.sh evaluates it and does not train it
    decodes    another experiment, whose trained model is only decoded, by grid beam search or `enforced`
    enforced   decoded so that the rule cannot be broken (ours; the paper has no such rows)
    """

    name: str
    table: str
    row: str
    task: str
    rule: str
    base: str
    tracked: bool
    decodes: str | None = None
    probe: str | None = None
    shipped: bool = False
    enforced: bool = False


STORY_RULES = {"insen": "InSen ∧ InSen", "order": "Order chain", "r1": "R1", "r2": "R2", "r3": "R3"}


def _all() -> list[Experiment]:
    found = []
    for rule in STORY_RULES:
        found.append(Experiment(f"{rule}-t5", "table1", "T5", "rocstories", rule, "t5-base", False))
        found.append(Experiment(f"{rule}-nretm", "table1", "NRETM", "rocstories", rule, "t5-base", True))
    found.append(Experiment("zeroshot-t5", "table4", "T5", "rocstories", "zeroshot", "t5-base", False))
    found.append(Experiment("zeroshot-nretm", "table4", "NRETM", "rocstories", "zeroshot", "t5-base", True,
                            probe="second phrase"))
    found.append(Experiment("any-t5", "any", "T5", "rocstories", "any", "t5-base", False, shipped=True))
    found.append(Experiment("any-nretm", "any", "NRETM", "rocstories", "any", "t5-base", True, shipped=True))
    for size in ("base", "large"):
        name, row, base = f"commongen-t5-{size}", f"T5-{size.title()}", f"t5-{size}"
        found.append(Experiment(name, "table2", row, "commongen", "copy", base, False))
        if size == "base":
            found.append(Experiment(f"{name}-grid", "table2", f"{row} + G", "commongen", "copy", base, False, name))
        found.append(Experiment(f"{name}-pc", "table2", f"{row} + NRETM P_c", "commongen", "copy", base, True))
        found.append(Experiment(f"{name}-pc-hat", "table2", f"{row} + NRETM P̂_c", "commongen", "inflected", base, True))
    found.append(Experiment("ted15-mbart", "table3", "Doc-mBART25", "ted15", "translated", "mbart", False))
    found.append(Experiment("ted15-mbart-pc", "table3", "Doc-mBART25 + P_c", "ted15", "translated", "mbart", True))
    trained = [experiment for experiment in found if experiment.base != "t5-large" and not experiment.decodes
               and not experiment.shipped]
    return found + [replace(experiment, name=enforced_name(experiment.name), row=f"{experiment.row}, enforced",
                            decodes=experiment.name, probe=None, enforced=True) for experiment in trained]


def enforced_name(name: str) -> str:
    """The experiment that decodes a trained model with its rule enforced."""
    return f"{name}-enforced"


EXPERIMENTS = {experiment.name: experiment for experiment in _all()}


def experiment_named(name: str) -> Experiment:
    if name not in EXPERIMENTS:
        raise ValueError(f"There is no experiment {name!r}: choose one of {', '.join(EXPERIMENTS)}.")
    return EXPERIMENTS[name]


def of_table(table: str) -> list[Experiment]:
    return [experiment for experiment in EXPERIMENTS.values() if experiment.table == table]
