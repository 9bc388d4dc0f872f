"""run_all: what is run, skipped, left out and reported, with small notebooks of the tests' own."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path

import psutil
import pytest

from reproduction.checkpoints import FILES
from reproduction.runner import execute, steps
from reproduction.runner import run as runner
from reproduction.runner.run import Folders, Run
from reproduction.runner.steps import Step, all_steps, choose

ROOT = Path(__file__).resolve().parents[3]

WRITE = "from pathlib import Path\nout = Path('../results/smoke') / made\nout.parent.mkdir(parents=True, exist_ok=True)"


def notebook(folders: Folders, name: str, *cells: str) -> None:
    folders.notebooks.mkdir(parents=True, exist_ok=True)
    book = {"cells": [{"cell_type": "code", "id": f"c{n}", "source": source, "execution_count": None, "outputs": [],
                       "metadata": {} if n else {"tags": ["parameters"]}} for n, source in enumerate(("", *cells))],
            "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (folders.notebooks / f"{name}.ipynb").write_text(json.dumps(book))


def step(name: str, made: str | None = None, **more) -> Step:
    return Step(name, f"{name}.ipynb", {"made": made}, outputs=(made,) if made else (), minutes=0.05, **more)


def run(folders: Folders, some: list[Step], **more) -> tuple[int, dict[str, str], Run]:
    made = Run(some, folders, slots=[{}, {}], **more)
    return made.go(), made.outcome, made


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """A folder with notebooks and results of its own; the package that others may be editing does not count."""
    monkeypatch.setattr(steps, "code_digest", lambda *_, **__: "")
    return Folders(tmp_path, "smoke")


@pytest.fixture
def chain(folders):
    """train writes a run file; table reads it."""
    notebook(folders, "train", WRITE, "out.write_text('{\"CSR\": 1}')")
    notebook(folders, "table", WRITE, "out.write_text(Path('../results/smoke/runs/a.json').read_text() + '!')")
    return [step("train", "runs/a.json", kind="training"),
            step("table", "tables/t.csv", needs=("train",), reads=("runs/a.json",))]


@pytest.mark.slow
def test_runs_once_then_skips_by_content(folders, chain, capsys):
    code, outcome, _ = run(folders, chain)
    assert (code, outcome) == (0, {"train": "done", "table": "done"})
    assert (folders.results / "tables/t.csv").read_text() == '{"CSR": 1}!'
    assert re.search(r"\[0/2\] \d+ s so far, about \d+ s left \| train \| began train", capsys.readouterr().out)

    executed = json.loads((folders.results / "notebooks/training/train.ipynb").read_text())
    assert executed["cells"][-1]["execution_count"] and str(folders.root) not in json.dumps(executed["metadata"])

    for path in folders.notebooks.iterdir():
        os.utime(path)  # dates decide nothing
    assert run(folders, chain)[1] == {"train": "up to date", "table": "up to date"}

    (folders.results / "runs/a.json").write_text('{"CSR": 2}')  # a run file that came from elsewhere
    table = replace(chain[1], needs=())  # as under --tables
    assert run(folders, [table])[1] == {"table": "done"}
    assert (folders.results / "tables/t.csv").read_text() == '{"CSR": 2}!'

    (folders.results / "tables/t.csv").unlink()
    assert run(folders, [table])[1] == {"table": "done"}
    notebook(folders, "table", WRITE, "out.write_text('other')")
    assert run(folders, [table])[1] == {"table": "done"}
    assert run(folders, [table])[1] == {"table": "up to date"}
    assert run(folders, [table], force=True)[1] == {"table": "done"}


@pytest.mark.slow
def test_failure_is_told_and_stops_only_what_needs_it(folders, chain, capsys):
    notebook(folders, "train", "x = 1", "raise ValueError('no such\\nword')")
    notebook(folders, "other", "print('fine')")
    notebook(folders, "died", "import os", "os._exit(9)")
    some = [*chain, step("other"), step("died"), step("absent"), step("lazy", "x.csv"),
              step("report", after=("table", "other"))]
    notebook(folders, "lazy", "pass")
    notebook(folders, "report", "pass")
    code, outcome, made = run(folders, some)
    assert code == 1
    assert outcome == {"train": "failed", "table": "not run", "other": "done", "died": "failed", "absent": "failed",
                       "lazy": "failed", "report": "done"}
    assert made.reasons["train"] == "cell [3]: ValueError: no such word"
    assert made.reasons["died"] == "cell [3]: the kernel died (was there enough memory?)"
    assert made.reasons["table"] == "needs train"
    assert made.reasons["absent"] == "there is no absent.ipynb"
    assert "did not write x.csv" in made.reasons["lazy"]
    tail = capsys.readouterr().out.splitlines()[-7:]
    assert tail[0].startswith("7 steps: 2 done, 4 failed, 1 not run")
    assert any(line.split() == ["not", "run", "table:", "needs", "train"] for line in tail)
    assert not (folders.results / "notebooks/training/train.ipynb").exists()
    assert (folders.work / "unfinished/train.ipynb").exists()

    notebook(folders, "train", WRITE, "out.write_text('mended')")
    assert run(folders, some[:3])[1] == {"train": "done", "table": "done", "other": "up to date"}


SLOW = WRITE + """
import os, time
with open('../seen', 'a') as seen: print(os.getpid(), file=seen, flush=True)
while not Path('../go').exists(): time.sleep(0.1)
out.write_text('slept')
"""

SCRIPT = """
import sys
from pathlib import Path
from reproduction.runner.run import Folders, Run
from reproduction.runner import steps
from reproduction.runner.steps import Step
steps.code_digest = lambda *_, **__: ""
folders = Folders(Path(sys.argv[1]), "smoke")
some = [Step("quick", "quick.ipynb", {}), Step("slow", "slow.ipynb", {"made": "x"}, needs=("quick",), outputs=("x",))]
with folders.lock() as lock:
    sys.exit(Run(some, folders, slots=[{}], lock=lock.fileno()).go())
"""


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_stopped_or_killed_it_leaves_nothing_running_and_goes_on(folders, number):
    notebook(folders, "quick", "1")
    notebook(folders, "slow", SLOW)
    command, seen = [sys.executable, "-c", SCRIPT, str(folders.root)], folders.root / "seen"
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    first = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    kernel = _soon(lambda: seen.exists() and seen.read_text().strip())
    first.send_signal(number)
    said = first.communicate(timeout=30)[0]
    if number != signal.SIGKILL:
        assert first.returncode == 130
        assert "Interrupted: ending slow" in said and "run the same again to continue" in said
    _soon(lambda: not psutil.pid_exists(int(kernel)) or psutil.Process(int(kernel)).status() == "zombie")
    assert not (folders.results / "x").exists()

    (folders.root / "go").touch()
    again = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert again.returncode == 0, again.stderr
    assert "2 steps: 1 done, 1 up to date" in again.stdout


def _soon(question, seconds: float = 40):
    end = time.monotonic() + seconds
    while not (answer := question()):
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.1)
    return answer


def test_checkpoints_are_kept_only_for_the_same_code(folders, monkeypatch):
    notebook(folders, "train", "1")
    training = step("train", weights="train/model/model.safetensors", kind="training")
    checkpoint = folders.work / "train" / "checkpoint-2"

    def survives(force=False) -> bool:
        checkpoint.mkdir(parents=True, exist_ok=True)
        for name in FILES:
            (checkpoint / name).write_text("{}", encoding="utf-8")
        Run([training], folders, force).clear_checkpoints(training)
        return checkpoint.exists()

    assert not survives()  # nobody knows where it came from
    assert survives()
    notebook(folders, "train", "# a new comment")  # the notebook is run again, the training goes on
    assert survives()
    assert not survives(force=True)
    monkeypatch.setattr(steps, "code_digest", lambda *_, **__: "other code")
    assert not survives()


def test_a_training_without_its_weights_is_not_up_to_date(folders, chain):
    training = replace(chain[0], weights="train/model/model.safetensors")
    notebook(folders, "train", WRITE, "out.write_text('{}')", "weights = Path('../work/smoke/train/model')",
             "weights.mkdir(); (weights / 'model.safetensors').touch()")
    assert run(folders, [training])[1] == {"train": "done"}
    assert Run([training], folders).planned == []
    (folders.work / training.weights).unlink()  # as in a fresh clone
    assert Run([training, chain[1]], folders).planned == [training, chain[1]]


def test_two_at_a_time_the_longest_first_and_measuring_alone(folders, monkeypatch):
    together = []

    class Process:
        def __init__(self, command, **how):
            self.name, self.polls, self.pid = Path(json.loads(command[-1])["notebook"]).stem, 0, None
            now.add(self.name)

        def poll(self):
            self.polls += 1
            if self.polls < 3:
                together.append(frozenset(now))
                return None
            now.discard(self.name)
            self.returncode = 0
            return 0

    now: set[str] = set()
    monkeypatch.setattr(runner.subprocess, "Popen", Process)
    kinds = {"a": "training", "b": "training", "c": "training", "timing": "measuring", "d": "reading"}
    for name in kinds:
        notebook(folders, name, "1")
    minutes = {"a": 1, "b": 9, "c": 5, "timing": 2, "d": 0.1}
    some = [Step(name, f"{name}.ipynb", {}, minutes=minutes[name], kind=kind) for name, kind in kinds.items()]
    assert run(folders, some)[0] == 0
    assert together[0] == {"b", "c"}
    assert max(map(len, together)) == 2
    assert [names for names in together if "timing" in names] == [{"timing"}] * 2


def test_one_step_a_gpu_two_on_a_cpu(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert runner.slots() == [{"OMP_NUM_THREADS": "1"}] * 2
    tool = tmp_path / "nvidia-smi"
    tool.write_text("#!/bin/sh\necho 'GPU 0: A'\necho 'GPU 1: B'\necho 'GPU 2: C'\n")
    tool.chmod(0o755)
    assert runner.slots() == [{"CUDA_VISIBLE_DEVICES": str(n)} for n in range(3)]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2")
    assert runner.slots() == [{"CUDA_VISIBLE_DEVICES": "2"}]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert runner.slots() == [{"OMP_NUM_THREADS": "1"}] * 2


def test_an_executed_copy_is_for_readers():
    """Papermill adds a second cell of parameters; widgets and progress bars are dead without their kernel."""
    def code(source, tags=(), outputs=()):
        return {"cell_type": "code", "metadata": {"tags": list(tags)}, "source": source, "outputs": list(outputs),
                "execution_count": 7}
    bar = {"output_type": "display_data", "data": {execute.WIDGET: {}, "text/plain": "0%"}}
    result = {"output_type": "execute_result", "data": {"text/plain": "42"}, "execution_count": 7}
    made = execute._for_readers({"metadata": {"widgets": {}}, "cells": [
        {"cell_type": "markdown", "metadata": {}, "source": "# Title"},
        code('profile = "demo"  # whose results\nseed = 0\nfull = False', ["parameters"]),
        code('# Parameters\nprofile = "paper"\nseed = 3\ndata = "x"\n', ["injected-parameters"]),
        code("6 * 7", outputs=[bar, result])]})
    assert [cell["source"] for cell in made["cells"]] == [
        "# Title", 'profile = "paper"  # whose results\nseed = 3\nfull = False\ndata = "x"', "6 * 7"]
    assert made["cells"][2]["outputs"] == [result | {"execution_count": 2}] and "widgets" not in made["metadata"]


# ---- the steps of the paper --------------------------------------------------------------------------------------

def test_only_takes_what_it_needs():
    every = all_steps("demo", seeds=2)
    names = [found.name for found in choose(every, ["table4"], tables=False)]
    assert names == [f"zeroshot-{model}{way}-seed{seed}" for way in ("", "-enforced") for model in ("t5", "nretm")
                     for seed in (0, 1)] + ["table4"]
    grid = [found.name for found in choose(every, ["commongen-t5-base-grid"], tables=False)]
    assert grid == [f"commongen-t5-base{kind}-seed{seed}" for kind in ("", "-grid") for seed in (0, 1)]
    assert [found.name for found in choose(every, ["table4"], tables=True)] == ["table4"]
    with pytest.raises(ValueError, match="there is no step 'table9'"):
        choose(every, ["table9"], tables=False)


def test_tables_never_train_and_needs_come_first():
    every = all_steps("demo")
    assert {found.kind for found in choose(every, [], tables=True)} == {"reading"}
    names = [found.name for found in every]
    assert len(set(names)) == len(names)
    for number, found in enumerate(every):
        assert set(found.needs + found.after) <= set(names[:number]), found.name


def test_wrong_arguments_get_a_sentence(capsys):
    assert runner.main(["--only", "table9"]) == 2
    assert "there is no step 'table9'" in capsys.readouterr().err
    for option, value, said in (("--seeds", "0", "1 or more"), ("--data", "/no/such", "no folder"),
                                ("--profile", "x", "choose from")):
        with pytest.raises(SystemExit) as stop:
            runner.main([option, value])
        assert stop.value.code == 2 and said in capsys.readouterr().err


def test_list_and_dry_run(capsys):
    assert runner.main(["--list"]) == 0
    listed = capsys.readouterr().out
    assert "r1-nretm-seed0" in listed
    assert "needs zeroshot-t5-seed0, zeroshot-nretm-seed0, zeroshot-t5-enforced-seed0" in listed
    assert runner.main(["--dry-run", "--only", "table4", "--force", "--seeds", "3"]) == 0
    assert re.search(r"13 of 13 steps would be run, 0 are up to date; about .* min, 2 at a time",
                     capsys.readouterr().out)


def test_mini_makes_its_base_first_and_has_no_talks():
    steps = {step.name: step for step in all_steps("mini", data="somewhere")}
    assert steps["bases"].weights and steps["bases"].parameters["data"] == "somewhere"
    trained = [step for step in steps.values() if step.kind == "training"]
    assert trained and all("bases" in step.needs for step in trained)
    assert {"table1", "table2", "table4", "tableA", "tableB", "report"} <= set(steps)
    assert not {"ted15", "table3", "cases", "matrices"} & set(steps), "what needs talks or shows texts is left out"
    assert not any("large" in name for name in steps)


def test_a_base_that_is_there_is_not_reckoned_with_as_one_to_be_made(monkeypatch, tmp_path):
    monkeypatch.setattr(steps, "MADE_BASES_FOLDER", tmp_path)
    before = next(step for step in all_steps("mini", data="somewhere") if step.name == "bases")
    (tmp_path / "mini-t5").mkdir()
    (tmp_path / "mini-t5" / "base.json").write_text("{}")
    after = next(step for step in all_steps("mini", data="somewhere") if step.name == "bases")
    assert before.minutes == steps.BASE_MINUTES > 10 * after.minutes and before.weights == after.weights


def test_models_for_any_rule_are_trained_only_on_real_text():
    real = {step.name: step for step in all_steps("mini", seeds=3, data="somewhere")}
    ours = {step.name: step for step in all_steps("demo", data="somewhere")}
    assert {"any-t5-seed0", "any-nretm-seed0"} == set(real["any"].needs) and "any-t5-seed1" not in real
    assert real["any"].parameters["data"] == "somewhere" and real["any-t5-seed0"].weights
    assert not any(fnmatch(f"runs/{name}.json", pattern) for name in real["any"].needs
                   for pattern in real[name].outputs), "what the step writes again would be trained again"
    assert "any-t5-seed0" not in ours and "data" not in ours["any"].parameters


def test_the_folder_of_the_data_is_not_in_the_executed_notebook(folders, tmp_path):
    notebook(folders, "look", WRITE, "print(data); out.write_text('done')")
    data = str(tmp_path / "stories of mine")
    look = Step("look", "look.ipynb", {"made": "tables/t.csv", "data": data}, outputs=("tables/t.csv",))
    assert run(folders, [look])[0] == 0
    executed = (folders.results / "notebooks/look.ipynb").read_text()
    assert "stories of mine" not in executed and 'data = \\"DIR\\"' in executed
