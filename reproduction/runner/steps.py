"""The steps of the reproduction: which notebook, with which parameters, after which others, how long.

Only the standard library is imported here and in run.py: `./run_all.sh --help` works before anything is installed.
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from reproduction.checkpoints import MODEL
from reproduction.experiments import EXPERIMENTS, Experiment, of_table
from reproduction.files import BASES_FOLDER, MADE_BASES_FOLDER, run_name
from reproduction.runner.sources import code_digest, hash_of, notebook_imports
from reproduction.settings import experiments_of, read_profile, settings_for


@dataclass(frozen=True)
class Step:
    """One notebook to run.

    name        as in --only
    notebook    its file in notebooks/
    parameters  for papermill; paths in them are relative to notebooks/, where a notebook runs
    needs       steps that must have succeeded
    after       steps to wait for, whether they succeed or not
    reads       files under results/<profile>/ that it is made from (patterns)
    outputs     files under results/<profile>/ that it makes; a pattern with * may match none
    models      folders under reproduction/bases/ that it reads
    weights     file under work/<profile>/ that it makes, beside its checkpoints; not committed
    minutes     what it should take, until it has been measured
    kind        "reading" what others have made (all that --tables does), "data", "training", "measuring" (done alone)
    """

    name: str
    notebook: str
    parameters: dict
    needs: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    weights: str = ""
    minutes: float = 0.3
    kind: str = "reading"

    @property
    def executed(self) -> str:
        """Where the executed notebook goes, under results/<profile>/."""
        return f"notebooks/training/{self.name}.ipynb" if self.kind == "training" else f"notebooks/{self.notebook}"


def all_steps(name: str, seeds: int = 1, data: str | None = None) -> list[Step]:
    """Every step of the named profile, those that others need first."""
    source = {"data": data} if data else {}
    steps = [Step("quickstart", "00_quickstart.ipynb", {"figures": f"../results/{name}/figures"}, models=("any-nretm",),
                  outputs=("figures/running_example.png", "figures/running_example.svg"))]
    covered, builtin = experiments_of(name), read_profile(name)["all"]["data"] == "builtin"
    trained = [experiment for experiment in covered if not (experiment.shipped and builtin)]
    for number, task in enumerate(("rocstories", "commongen", "ted15"), 1):
        if any(experiment.task == task for experiment in covered):
            steps.append(Step(task, f"{number:02}_data_{task}.ipynb", {"profile": name, **source}, kind="data"))
    bases = _bases(name, source)
    steps.append(bases)
    made_first = (bases.name,) if bases.weights else ()
    for experiment in trained:
        steps += [_training(experiment, seed, name, source, made_first)
                  for seed in range(1 if experiment.shipped else seeds)]

    def reading(step: str, notebook: str, experiments: Iterable[Experiment], **more) -> Step:
        needs = tuple(run_name(experiment.name, seed) for experiment in experiments if experiment in trained
                      for seed in range(seeds))
        reads = tuple(f"{folder}/{experiment.name}-seed*.json*" for experiment in experiments
                      for folder in (("runs", "probes") if experiment.probe else ("runs",)))
        return Step(step, notebook, {"profile": name}, needs, reads=reads, **more)

    def table(step: str, notebook: str, experiments: Iterable[Experiment]) -> Step:
        return reading(step, notebook, experiments,
                       outputs=(f"tables/{step}.csv", f"tables/{step}.md", f"figures/{step}.*"))

    table1 = of_table("table1")
    hard = [experiment for experiment in table1 if experiment.rule in ("r1", "r2", "r3")]
    tables = [
        table("table1", "05_table1_five_rules.ipynb", table1),
        table("tableA", "06_tableA_near_misses.ipynb", hard),
        table("tableB", "07_tableB_predicates.ipynb", hard),
        table("table4", "08_table4_zero_shot.ipynb", of_table("table4")),
        table("table2", "09_table2_commongen.ipynb", of_table("table2")),
        table("table3", "10_table3_translation.ipynb", of_table("table3")),
    ]
    steps += [step for step in tables if step.needs]  # a table without a row is not made
    drawn = ("r1-nretm", "commongen-t5-base-pc-hat", "ted15-mbart-pc")
    compared = ("r1-t5", "r3-t5", "r3-nretm", "zeroshot-t5", "zeroshot-nretm", "commongen-t5-base", "ted15-mbart")
    if set(_named(*drawn, *compared)) <= set(covered):  # these show texts of all three tasks
        steps += [
            reading("matrices", "11_state_matrices.ipynb", _named(*drawn), outputs=("figures/matrix_*",)),
            reading("cases", "12_case_study.ipynb", _named(*drawn, *compared), outputs=("tables/cases_*",)),
        ]
    if builtin:  # the shipped models write built-in stories
        steps.append(Step("playground", "13_playground.ipynb",
                          {"profile": name, "rules_of_each_kind": 1 if name == "smoke" else 6}, kind="data",
                          outputs=("playground.html",), models=ANY_MODELS, minutes=0.7))
    any_trained = tuple(run_name(model, 0) for model in ANY_MODELS if EXPERIMENTS[model] in trained)
    if builtin or any_trained:
        trainings = [step.name for step in steps if step.kind == "training"]
        steps.append(_any_rule(name, source if any_trained else {}, any_trained, trainings))
    steps.append(Step("performance", "14_performance.ipynb", {"profile": name}, minutes=0.7, kind="measuring",
                      reads=("tables/cost_t5_base.json", "tables/cost_enforcement.json"),
                      outputs=("figures/cost_tracker.*", "figures/cost_model.*")))
    steps.append(Step("enforcement", "18_enforcement.ipynb", {"profile": name}, reads=("enforcement-test.json",),
                      outputs=("figures/enforcement.*",)))
    before = tuple(step.name for step in steps if step.kind != "training")
    steps.append(Step("collie", "17_collie.ipynb", {"per_structure": 1 if name == "smoke" else 3}, minutes=1.5))
    steps.append(Step("report", "15_report.ipynb", {"profile": name}, after=before,
                      reads=("runs/*.json", "figures/*.png", "tables/cases_*"), outputs=("report.html", "claims.md")))
    return steps


def _bases(profile: str, source: dict) -> Step:
    """What the trainings start from. A base of real text is made here, and kept outside of results/."""
    step = Step("bases", "04_base_models.ipynb", {"profile": profile, **source}, kind="data")
    if made := [model for model in read_profile(profile)["models"].values() if model.startswith("mini-")]:
        there = (MADE_BASES_FOLDER / made[0] / "base.json").is_file()  # then it is looked at, and seldom made again
        return replace(step, weights=f"../{MADE_BASES_FOLDER.name}/{made[0]}/base.json",
                       minutes=step.minutes if there else BASE_MINUTES)
    return step


def _any_rule(name: str, source: dict, needs: tuple[str, ...], trainings: list[str]) -> Step:
    """What one model for any rule obeys: of built-in stories the models that come with the repository, of real ones
    those that were trained."""
    runs = tuple(f"runs/{model}-seed0.json*" for model in ANY_MODELS)
    return Step("any", "16_any_rule.ipynb", {"profile": name, "size": 6 if name == "smoke" else 250, **source},
                needs=needs, after=tuple(training for training in trainings if training not in needs),
                reads=tuple(f"runs/{experiment.name}-seed*.json" for experiment in of_table("table1")),
                outputs=(*runs, "tables/any.csv", "tables/any.md", "figures/any.*"),
                models=() if needs else ANY_MODELS, minutes=10 if needs else 2, kind="data")


def _named(*names: str) -> list[Experiment]:
    return [EXPERIMENTS[name] for name in names]


ANY_MODELS = ("any-t5", "any-nretm")
BASE_MINUTES = 12  # of a base of real text
MINUTES = {  # of one training and its evaluation; a run's own time takes their place once it is known
    "demo": {"rocstories t5-base": 2, "commongen t5-base": 1.2, "commongen t5-large": 2, "ted15 mbart": 4.5},
    "paper": {"rocstories t5-base": 480, "commongen t5-base": 300, "commongen t5-large": 840, "ted15 mbart": 1200},
    "mini": {"rocstories t5-base": 14, "commongen t5-base": 6},
    "small": {"rocstories t5-base": 300, "commongen t5-base": 120, "ted15 mbart": 300},
    "smoke": {"rocstories t5-base": 0.3, "commongen t5-base": 0.3, "commongen t5-large": 0.3, "ted15 mbart": 0.3},
}


def _training(experiment: Experiment, seed: int, profile: str, source: dict, needs: tuple[str, ...]) -> Step:
    name, minutes = run_name(experiment.name, seed), MINUTES[profile][f"{experiment.task} {experiment.base}"]
    outputs = (f"runs/{name}.json", f"runs/{name}.jsonl*", *([f"probes/{name}.json*"] if experiment.probe else []))
    if experiment.shipped:  # the step "any" puts every kind of rule into its run file
        outputs = ()
    step = Step(name, "04_training.ipynb", {"profile": profile, "experiment": experiment.name, "seed": seed, **source},
                needs=needs, outputs=outputs, minutes=minutes, kind="training")
    if not experiment.decodes:
        return replace(step, weights=f"{name}/{MODEL.as_posix()}")
    other = run_name(experiment.decodes, seed)
    return replace(step, needs=(*needs, other), reads=(f"runs/{other}.json*",), minutes=minutes / 5)


def choose(steps: list[Step], only: Iterable[str], tables: bool) -> list[Step]:
    """The steps that the user names, with those that they need; with `tables` only those that read."""
    by_name = {step.name: step for step in steps}
    wanted = set()

    def add(name: str) -> None:
        if name not in wanted:
            wanted.add(name)
            for need in by_name[name].needs:
                add(need)

    for name in only:
        found = [step.name for step in steps if name in (step.name, step.name.rpartition("-seed")[0])]
        if not found:
            raise ValueError(f"there is no step {name!r}: `./run_all.sh --list` names them all")
        for step_name in found:
            add(step_name)
    return keep(steps, lambda step: (step.name in wanted or not wanted) and (step.kind == "reading" or not tables))


def keep(steps: list[Step], wanted: Callable[[Step], bool]) -> list[Step]:
    """Some of the steps; what is left out is no longer waited for: its results are taken as they are."""
    kept = [step for step in steps if wanted(step)]
    names = {step.name for step in kept}
    return [replace(step, needs=tuple(name for name in step.needs if name in names),
                    after=tuple(name for name in step.after if name in names)) for step in kept]


# ---- what a step is made from ------------------------------------------------------------------------------------

def fingerprint(step: Step, results: Path, notebooks: Path) -> str:
    """A hash of all that decides what a step makes: never of dates."""
    cells = _cells(notebooks / step.notebook)
    read = {path.relative_to(results).as_posix(): digest(path) for path in matching(results, step.reads)}
    return hash_of(json.dumps([cells, read, code_fingerprint(step, notebooks)], sort_keys=True).encode())


def code_fingerprint(step: Step, notebooks: Path) -> str:
    """The part of it that decides what is trained: parameters, settings, code and base model."""
    if experiment := EXPERIMENTS.get(step.parameters.get("experiment")):
        settings = settings_for(step.parameters["profile"], experiment)
        base = {path.name: digest(path) for path in matching(Path(settings.model_path), ("*",))}
        made_by = [f"{experiment} {settings}", base, code_digest(["reproduction.training"], drawing=False)]
    else:
        code = [source for kind, source in _cells(notebooks / step.notebook) if kind == "code"]
        made_by = code_digest(notebook_imports(code))
    models = {f"{model}/{path.name}": digest(path) for model in step.models
              for path in matching(BASES_FOLDER / model, ("*",))}
    made_by = [step.parameters, made_by, models] if models else [step.parameters, made_by]
    return hash_of(json.dumps(made_by, sort_keys=True).encode())


def _cells(notebook: Path) -> list[tuple[str, str]]:
    content = json.loads(notebook.read_text(encoding="utf-8"))
    return [(cell["cell_type"], "".join(cell["source"])) for cell in content["cells"]]


def matching(folder: Path, patterns: Iterable[str]) -> list[Path]:
    return sorted({path for pattern in patterns for path in folder.glob(pattern) if path.is_file()})


def digest(path: Path) -> str:
    return hash_of(path.read_bytes())

