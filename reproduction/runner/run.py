"""Reproduce the paper: run every notebook that is not up to date, two at a time, and say what came of it.

    ./run_all.sh                        everything in the demo profile (built-in data, small models, CPU)
    ./run_all.sh --tables               tables and figures again from the run files that are there, without training
    ./run_all.sh --only table1          one step with those that it needs; --list names the steps
    ./run_all.sh --profile paper --data DIR
"""

import argparse
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from reproduction.checkpoints import keep_or_clear
from reproduction.files import ROOT, results_folder, work_folder, write_whole
from reproduction.runner.steps import Step, all_steps, choose, code_fingerprint, digest, fingerprint, matching
from reproduction.settings import profile_names

EPILOG = """\
A step is up to date when its notebook, its parameters, the package and the results that it reads are what they were
when it last succeeded, and what it made is still there. Content decides, not dates. So a run that was stopped or
killed continues where it was; a training continues from its last checkpoint. Training notebooks also run again where
their weights are missing, as in a fresh clone; --tables does without them.

Executed notebooks, tables, figures, run files and report.html go to results/<profile>/, logs and checkpoints to
work/<profile>/. On a CPU two steps run at a time with one thread each; with GPUs one step on each.
Exit code: 0 all is well, 1 something failed, 2 wrong arguments, 130 interrupted."""


def parse_arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    head, _, examples = __doc__.partition("\n\n")
    parser = argparse.ArgumentParser(prog="./run_all.sh", description=f"{head}\n\n{examples}", epilog=EPILOG,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--profile", choices=profile_names(), default="demo", help="demo (the default): minutes on a "
                        "CPU; mini: real text, a small model, an evening on a CPU; paper: the paper's models, data "
                        "and settings, days on a GPU; smoke: for tests")
    parser.add_argument("--tables", action="store_true", help="no data, training or timing: only rebuild tables "
                        "and figures from the run files and generations under results/<profile>/")
    parser.add_argument("--only", metavar="STEP", nargs="+", default=[], help="only these steps and those they need")
    parser.add_argument("--data", metavar="DIR", help="folder with the paper's data; without it the profile decides")
    parser.add_argument("--seeds", metavar="N", type=int, default=1, help="train each model with N seeds (default 1)")
    parser.add_argument("--force", action="store_true", help="run steps that are up to date too")
    parser.add_argument("--list", action="store_true", help="name the steps and what each needs, and stop")
    parser.add_argument("--dry-run", action="store_true", help="say what would be run and how long it should take")
    arguments = parser.parse_args(argv)
    if arguments.seeds < 1:
        parser.error("--seeds must be 1 or more")
    if arguments.data:
        if not Path(arguments.data).is_dir():
            parser.error(f"--data: there is no folder {arguments.data}")
        arguments.data = str(Path(arguments.data).resolve())
    return arguments


def main(argv: Sequence[str] | None = None) -> int:
    arguments = parse_arguments(argv)
    steps = all_steps(arguments.profile, arguments.seeds, arguments.data)
    try:
        steps = choose(steps, arguments.only, arguments.tables)
    except ValueError as error:
        print(f"./run_all.sh: {error}", file=sys.stderr)
        return 2
    if arguments.list:
        for step in steps:
            needs = f"  needs {_few(step.needs)}" if step.needs else ""
            print(f"{step.name:34} {step.notebook:28}{needs}")
        return 0
    folders = Folders(ROOT, arguments.profile)
    if arguments.dry_run:
        return Run(steps, folders, arguments.force, slots()).describe()
    with folders.lock() as lock:
        return Run(steps, folders, arguments.force, slots(), lock.fileno()).go()


def slots() -> list[dict[str, str]]:
    """The environment of each step that may run at the same time: one per GPU, or two of one thread on the CPU."""
    try:
        listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True).stdout.splitlines()
    except OSError:
        listed = []
    count = sum(line.startswith("GPU") for line in listed)
    devices = os.environ.get("CUDA_VISIBLE_DEVICES")
    numbers = devices.split(",") if count and devices is not None else [str(n) for n in range(count)]
    return [{"CUDA_VISIBLE_DEVICES": n} for n in numbers if n] or [{"OMP_NUM_THREADS": "1"}] * 2


@dataclass(frozen=True)
class Folders:
    """Where the notebooks are and where results and work in progress go."""

    root: Path
    profile: str

    notebooks = property(lambda self: self.root / "notebooks")
    results = property(lambda self: results_folder(self.root, self.profile))
    work = property(lambda self: work_folder(self.root, self.profile))
    stamps = property(lambda self: self.results / "stamps.json")

    def lock(self):
        """One run of a profile at a time. Its steps hold the lock too: what is left of a killed run is waited for."""
        self.work.mkdir(parents=True, exist_ok=True)
        file = open(self.work / "lock", "w")
        for _ in range(20):
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return file
            except BlockingIOError:
                time.sleep(0.5)
        sys.exit(f"Another ./run_all.sh of the profile {self.profile} is running; wait for it or stop it first.")


@dataclass(frozen=True)
class Child:
    """A step that is running in a process of its own."""

    process: subprocess.Popen
    began: float
    slot: dict[str, str]
    made_from: str


class Run:
    """One run over some steps. `outcome` has what became of each: done, up to date, failed or not run."""

    def __init__(self, steps: list[Step], folders: Folders, force: bool = False, slots: Sequence[dict] = ({}, {}),
                 lock: int | None = None):
        self.steps, self.folders, self.force, self.lock = steps, folders, force, lock
        self.free, self.jobs = list(slots), len(slots)
        self.outcome: dict[str, str] = {}
        self.reasons: dict[str, str] = {}
        self.stale: set[str] = set()  # looked at, and to be run
        self.running: dict[str, Child] = {}
        self.began = time.monotonic()
        self.stamps = json.loads(folders.stamps.read_text(encoding="utf-8")) if folders.stamps.exists() else {}
        self.seconds = {step.name: self.stamps.get(step.name, {}).get("seconds", 60 * step.minutes) for step in steps}
        self.planned = self.plan()
        self.line = Line()

    # ---- what is up to date --------------------------------------------------------------------------------------

    def fresh(self, step: Step) -> bool:
        stamp = self.stamps.get(step.name)
        return bool(not self.force and stamp and (self.folders.notebooks / step.notebook).exists()
                    and stamp["made from"] == self.made_from(step) and stamp["made"] == self.made(step))

    def made_from(self, step: Step) -> str:
        return fingerprint(step, self.folders.results, self.folders.notebooks)

    def made(self, step: Step) -> dict[str, str]:
        """What a step has made: tables and run files by content; weights and executed notebooks need only be there."""
        files = {path.relative_to(self.folders.results).as_posix(): digest(path)
                 for path in matching(self.folders.results, step.outputs)}
        others = {"weights": self.folders.work / step.weights, "notebook": self.folders.results / step.executed}
        return files | {name: "there" for name, path in others.items() if path.is_file()}

    def plan(self) -> list[Step]:
        """The steps that would be run as things stand; what they make may yet turn out as it was."""
        planned: dict[str, Step] = {}
        for step in self.steps:
            if any(name in planned for name in step.needs + step.after) or not self.fresh(step):
                planned[step.name] = step
        return list(planned.values())

    def describe(self) -> int:
        names = {step.name for step in self.planned}
        for step in self.steps:
            if step.name in names:
                print(f"{step.name:34} {step.notebook:28} {_duration(self.seconds[step.name]):>9}")
        print(f"{len(names)} of {len(self.steps)} steps would be run, {len(self.steps) - len(names)} are up to date; "
              f"about {_duration(self.left())}, {self.jobs} at a time.")
        return 0

    # ---- running -------------------------------------------------------------------------------------------------

    def go(self) -> int:
        before = {number: signal.signal(number, signal.default_int_handler)
                  for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
        try:
            while len(self.outcome) < len(self.steps):
                self.settle()
                self.start()
                self.collect()
                self.line.show(self.progress())
                if self.running:
                    time.sleep(0.2)
        except KeyboardInterrupt:
            for number in before:
                signal.signal(number, signal.SIG_IGN)
            self.line.say("Interrupted: ending " + (_few(self.running) or "nothing"))
            self.stop()
            self.line.say("What is finished is kept; run the same again to continue.")
            return 130
        finally:
            self.stop()
            for number, handler in before.items():
                signal.signal(number, handler)
        return self.summary()

    def waiting(self) -> list[Step]:
        """Steps with nothing left to wait for, the longest first so that none is left for the end."""
        ready = [step for step in self.steps if step.name not in self.outcome and step.name not in self.running
                 and all(name in self.outcome for name in step.needs + step.after)]
        return sorted(ready, key=lambda step: -self.seconds[step.name])

    def settle(self) -> None:
        """Decide the steps that need not or cannot be run."""
        while True:
            decided = 0
            for step in self.waiting():
                if step.name in self.stale:
                    continue
                lacking = [name for name in step.needs if self.outcome[name] in ("failed", "not run")]
                if lacking:
                    self.outcome[step.name], self.reasons[step.name] = "not run", f"needs {_few(lacking)}"
                elif not (self.folders.notebooks / step.notebook).exists():
                    self.outcome[step.name], self.reasons[step.name] = "failed", f"there is no {step.notebook}"
                elif self.fresh(step):
                    self.outcome[step.name] = "up to date"
                else:
                    self.stale.add(step.name)
                    continue
                decided += 1
            if not decided:
                return

    def start(self) -> None:
        for step in self.waiting():
            kinds = {other.kind for other in self.steps if other.name in self.running}
            if not self.free or "measuring" in kinds or (kinds and step.kind == "measuring"):  # that is done alone
                continue
            log, slot = self.log(step), self.free.pop()
            all_cores = step.kind == "measuring" and "OMP_NUM_THREADS" in slot
            environment = _environment() | ({} if all_cores else slot)
            if step.weights:
                self.clear_checkpoints(step)
            log.parent.mkdir(parents=True, exist_ok=True)
            job = {"root": str(self.folders.root), "notebook": str(self.folders.notebooks / step.notebook),
                   "parameters": step.parameters,
                   "partial": str(self.folders.work / "unfinished" / f"{step.name}.ipynb"),
                   "executed": str(self.folders.results / step.executed)}
            with open(log, "wb") as output:
                process = subprocess.Popen(
                    [sys.executable, "-P", "-m", "reproduction.runner.execute", json.dumps(job)], env=environment,
                    stdin=subprocess.DEVNULL, stdout=output, stderr=output, pass_fds=[self.lock] if self.lock else [],
                    start_new_session=True)  # so that Ctrl-C is ours to pass on
            self.running[step.name] = Child(process, time.monotonic(), slot, self.made_from(step))
            self.stamps.pop(step.name, None)
            self.save_stamps()
            self.line.say(f"{self.progress()} | began {step.name}")

    def log(self, step: Step) -> Path:
        return self.folders.work / "logs" / f"{step.name}.log"

    def clear_checkpoints(self, step: Step) -> None:
        """A training may resume only from what the same code made with the same settings."""
        made_from = code_fingerprint(step, self.folders.notebooks)
        keep_or_clear(self.folders.work / step.name, "made_from.txt", made_from, clear=self.force)

    def collect(self) -> None:
        for step in self.steps:
            child = self.running.get(step.name)
            if child is None or child.process.poll() is None:
                continue
            del self.running[step.name]
            self.free.append(child.slot)
            took = time.monotonic() - child.began
            absent = [name for name in step.outputs if "*" not in name and not (self.folders.results / name).is_file()]
            if child.process.returncode or absent:
                self.outcome[step.name] = "failed"
                self.reasons[step.name] = self.last_words(step) if child.process.returncode else \
                    f"the notebook ran but did not write {_few(absent)}"
            else:
                self.outcome[step.name] = "done"
                self.stamps[step.name] = {"made from": child.made_from, "made": self.made(step),
                                          "seconds": round(took, 1)}
                self.save_stamps()
            self.line.say(f"{self.progress()} | {self.outcome[step.name]} {step.name} in {_duration(took)}"
                          + (f": {self.reasons[step.name]}" if step.name in self.reasons else ""))

    def last_words(self, step: Step) -> str:
        lines = self.log(step).read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return lines[-1].strip() if lines else "ended without a word"

    def save_stamps(self) -> None:
        write_whole(self.folders.stamps, json.dumps(self.stamps, indent=1, sort_keys=True) + "\n")

    def stop(self) -> None:
        from reproduction.runner.execute import stop

        while self.running:
            _, child = self.running.popitem()
            stop(child.process.pid)
            child.process.wait()

    # ---- telling -------------------------------------------------------------------------------------------------

    def left(self) -> float:
        """Seconds still to go: estimates, set right by what the finished steps took, shared by the jobs."""
        now, still = time.monotonic(), []
        for step in self.planned:
            child = self.running.get(step.name)
            if step.name not in self.outcome:
                still.append(max(self.seconds[step.name] - (now - child.began if child else 0), 0))
        finished = [name for name, outcome in self.outcome.items() if outcome == "done"]
        expected = sum(self.seconds[name] for name in finished)
        speed = sum(self.stamps[name]["seconds"] for name in finished) / expected if expected else 1.0
        return speed * max(sum(still) / self.jobs, max(still, default=0))

    def progress(self) -> str:
        ended = sum(step.name in self.outcome for step in self.planned)
        running = _few(self.running)
        return (f"[{ended}/{len(self.planned)}] {_duration(time.monotonic() - self.began)} so far, "
                f"about {_duration(self.left())} left" + (f" | {running}" if running else ""))

    def summary(self) -> int:
        counts = {what: sum(outcome == what for outcome in self.outcome.values())
                  for what in ("done", "up to date", "failed", "not run")}
        said = ", ".join(f"{number} {what}" for what, number in counts.items() if number)
        self.line.say(f"{len(self.steps)} steps: {said}; {_duration(time.monotonic() - self.began)}. "
                      f"Results: {os.path.relpath(self.folders.results)}")
        for name, reason in self.reasons.items():
            self.line.say(f"  {self.outcome[name]:8} {name}: {reason}")
        if counts["failed"]:
            self.line.say(f"  logs and unfinished notebooks: {os.path.relpath(self.folders.work)}")
        from reproduction.report.changes import compare  # needs packages, which this module does not

        try:
            lines = compare(self.folders.results, self.folders.root)
        except ValueError as problem:  # a damaged run file is named; what the run came to stays said
            lines = [str(problem)]
        for line in lines:
            self.line.say(line)
        return 1 if self.reasons else 0


class Line:
    """One line, rewritten in place on a terminal; elsewhere only what is said, and a sign of life every minute."""

    def __init__(self) -> None:
        self.terminal, self.last = sys.stdout.isatty(), time.monotonic()

    def show(self, text: str) -> None:
        if self.terminal:
            print(f"\r\033[K{text[:shutil.get_terminal_size().columns - 1]}", end="", flush=True)
        elif time.monotonic() - self.last > 60:
            self.say(text)

    def say(self, text: str) -> None:
        self.last = time.monotonic()
        print(f"\r\033[K{text}" if self.terminal else text, flush=True)


def _environment() -> dict[str, str]:
    """A kernel of this interpreter that imports this checkout, whatever kernels the user has installed."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    kernels = str(Path(sys.prefix, "share", "jupyter"))
    kept = {name: value for name, value in os.environ.items() if name != "MPLBACKEND"}  # figures belong in the page
    return kept | {"PYTHONPATH": path, "JUPYTER_PATH": kernels, "TOKENIZERS_PARALLELISM": "false",
                   "KINETO_LOG_LEVEL": "99"}  # torch's profiler would report every start and stop


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes}:{rest:02} min" if minutes else f"{rest} s"


def _few(names) -> str:
    names = list(names)
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


if __name__ == "__main__":
    sys.exit(main())
