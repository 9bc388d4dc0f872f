"""The ground: pins that agree, and an environment that is made once, reused, and never taken half-made."""

import ast
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions, requires
from pathlib import Path
from zipfile import ZipFile

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import setup_env

ROOT = Path(__file__).resolve().parents[2]


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PINS = setup_env.pins("reproduction", "test")
CONSTRAINTS = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
                   if not line.startswith("#"))


def ranges(*extras: str) -> list[Requirement]:
    """What the library asks for: ranges."""
    lists = [PROJECT["dependencies"], *(PROJECT["optional-dependencies"][extra] for extra in extras)]
    return [Requirement(line) for lines in lists for line in lines]


def test_environment_yml_installs_the_pins():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    python, _, pip = environment["dependencies"]
    assert python == "python=3.11"
    assert pip["pip"] == ["-c constraints.txt", f"-e .[{','.join(setup_env.EXTRAS)}]"]


def test_every_pin_is_exact_and_installed_here():
    assert all(re.fullmatch(r"\d+(\.\d+)*", pin) for pin in (PINS | CONSTRAINTS).values())
    assert PINS.items() <= CONSTRAINTS.items()
    assert setup_env.missing(PINS) == []


def test_the_constraints_have_all_that_the_pins_bring_along():
    known, waiting, seen = {canonicalize_name(name) for name in CONSTRAINTS}, list(PINS), set()
    while waiting:
        name = canonicalize_name(waiting.pop())
        if name in seen:
            continue
        seen.add(name)
        for line in requires(name) or ():
            needed = Requirement(line)
            if needed.marker is None or needed.marker.evaluate({"extra": ""}):
                waiting.append(needed.name)
    assert not {name for name in seen - known if not name.startswith(("nvidia-", "cuda-"))} - {"triton", "setuptools"}


def test_the_ranges_of_the_library_contain_the_pins():
    for needed in ranges("plot"):
        assert needed.specifier.contains(PINS[needed.name]), needed
        assert {clause.operator for clause in needed.specifier} == {">=", "<"}


@pytest.mark.parametrize("folder, declared", [
    ("nretm", [needed.name for needed in ranges("plot")]),
    ("reproduction", setup_env.pins("reproduction")),
    ("tests", PINS)])
def test_every_import_is_declared(folder, declared):
    declared = set(map(canonicalize_name, declared))
    distributions = packages_distributions()
    undeclared = set()
    for path in (ROOT / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [node.module]
            for top in {name.partition(".")[0] for name in names} - {"nretm"}:
                owners = set(map(canonicalize_name, distributions.get(top, [])))
                if owners and not owners & declared and top not in sys.stdlib_module_names:
                    undeclared.add(f"{path.relative_to(ROOT)}: {top}")
    assert not undeclared


def test_the_wheel_is_the_library_alone(tmp_path):
    build = "import sys; from hatchling.build import build_wheel; print(build_wheel(sys.argv[1]))"
    done = subprocess.run([sys.executable, "-c", build, tmp_path], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with ZipFile(tmp_path / done.stdout.strip()) as wheel:
        files = set(wheel.namelist())
        about = next(name for name in files if name.endswith("METADATA")).removesuffix("METADATA")
        scripts = wheel.read(f"{about}entry_points.txt").decode()
    sources = {path.relative_to(ROOT).as_posix() for path in (ROOT / "nretm").rglob("*.py")}
    assert files == sources | {"nretm/py.typed"} | {
        about + name for name in ("METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE")}
    assert "nretm = nretm.cli:main" in scripts


def test_missing_names_absent_and_other_versions():
    wanted = {"pytest": "0.0.1", "no-such-package": "1.0"}
    assert setup_env.missing(wanted) == ["pytest 0.0.1", "no-such-package 1.0"]


def test_local_version_counts_as_the_pin(monkeypatch):
    monkeypatch.setattr(setup_env, "version", lambda name: "2.13.0+cpu")
    assert setup_env.missing({"torch": "2.13.0"}) == []


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """An empty checkout whose pins this interpreter lacks; installations are recorded, not done."""
    (tmp_path / "pyproject.toml").write_text(
        '[project]\noptional-dependencies.reproduction = ["no-such-package==1.0"]\noptional-dependencies.test = []\n'
    )
    (tmp_path / "constraints.txt").write_text("no-such-package==1.0\nanother==2.0\n")
    venv = tmp_path / ".venv"
    places = {"ROOT": tmp_path, "VENV": venv, "PYTHON": venv / "bin" / "python", "STAMP": venv / "done"}
    for name, value in places.items():
        monkeypatch.setattr(setup_env, name, value)
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        monkeypatch.delenv(name, raising=False)
    commands = []

    def run(command, lock):
        commands.append(command[2])
        if command[2] == "venv":
            setup_env.PYTHON.parent.mkdir(parents=True, exist_ok=True)
            setup_env.PYTHON.unlink(missing_ok=True)
            setup_env.PYTHON.symlink_to(sys.executable)

    monkeypatch.setattr(setup_env, "run", run)
    return commands


def test_own_environment_is_made_once(checkout, capsys):
    setup_env.main(["reproduction"])
    first = capsys.readouterr()
    assert checkout == ["venv", "pip"]
    assert first.out == f"{setup_env.PYTHON}\n"
    assert "minutes" in first.err and "GB" in first.err
    setup_env.main(["reproduction"])
    assert checkout == ["venv", "pip"]
    assert capsys.readouterr() == (first.out, "")


@pytest.mark.parametrize("trouble", [KeyboardInterrupt, subprocess.CalledProcessError(1, "pip")])
def test_interrupted_installation_starts_again(checkout, monkeypatch, trouble):
    whole = setup_env.run

    def stops(command, lock):
        whole(command, lock)
        if command[2] == "pip":
            raise trouble

    monkeypatch.setattr(setup_env, "run", stops)
    with pytest.raises((KeyboardInterrupt, SystemExit)):
        setup_env.main(["reproduction"])
    assert setup_env.venv_state() == "unusable"
    monkeypatch.setattr(setup_env, "run", whole)
    setup_env.main(["reproduction"])
    assert checkout == ["venv", "pip", "venv", "pip"]
    assert setup_env.venv_state() == "ready"


def test_changed_pins_update_and_a_moved_folder_rebuilds(checkout, monkeypatch, tmp_path):
    setup_env.main(["reproduction"])
    pyproject = tmp_path / "pyproject.toml"
    pyproject.write_text(pyproject.read_text().replace("1.0", "1.1"))
    assert setup_env.venv_state() == "outdated"
    setup_env.main(["reproduction"])
    assert checkout == ["venv", "pip", "pip"]
    constraints = tmp_path / "constraints.txt"
    constraints.write_text(constraints.read_text().replace("2.0", "2.1"))
    assert setup_env.venv_state() == "outdated"
    monkeypatch.setattr(setup_env, "ROOT", tmp_path.rename(tmp_path.with_name("moved")))
    monkeypatch.setattr(setup_env, "VENV", setup_env.ROOT / ".venv")
    monkeypatch.setattr(setup_env, "STAMP", setup_env.VENV / "done")
    assert setup_env.venv_state() == "unusable"


def test_lost_interpreter_rebuilds(checkout):
    setup_env.main(["reproduction"])
    setup_env.PYTHON.unlink()
    assert setup_env.venv_state() == "unusable"


def test_active_environment_without_the_pins_is_left_alone(checkout, monkeypatch, capsys):
    monkeypatch.setenv("VIRTUAL_ENV", sys.prefix)
    setup_env.main(["reproduction"])
    out, err = capsys.readouterr()
    assert out == f"{setup_env.PYTHON}\n"
    assert "lacks 1 of the pins (no-such-package 1.0)" in err


def test_environment_with_the_pins_is_used_as_it_is(checkout, monkeypatch, capsys):
    monkeypatch.setattr(setup_env, "version", lambda name: "1.0")
    setup_env.main(["reproduction", "test"])
    assert capsys.readouterr() == (f"{sys.executable}\n", "")
    assert checkout == [] and not setup_env.VENV.exists()


@pytest.fixture
def path_with(tmp_path):
    """An environment whose PATH has what the scripts need of the shell, and as `python` the given program."""

    def make(program):
        for name in ("python", "python3"):
            (tmp_path / name).write_text(f"#!/bin/sh\n{program}\n")
            (tmp_path / name).chmod(0o755)
        for tool in ("bash", "dirname"):
            (tmp_path / tool).symlink_to(shutil.which(tool))
        return {"PATH": str(tmp_path)}

    return make


def test_no_python_is_said_in_one_sentence(path_with):
    run = [shutil.which("bash"), ROOT / "run_tests.sh"]
    done = subprocess.run(run, env=path_with("exit 1"), capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("NRETM needs Python 3.11 or newer") and done.stderr.count("\n") == 1


def test_help_needs_no_package(path_with):
    run = [shutil.which("bash"), ROOT / "run_all.sh", "--help"]
    bare = path_with(f'exec "{sys.executable}" -S "$@"')  # no site-packages
    done = subprocess.run(run, env=bare, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "--profile" in done.stdout and not done.stderr
