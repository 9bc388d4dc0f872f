"""Find or make the environment that run_tests.sh and run_all.sh use (standard library only).

An interpreter that already has the pins of the extras that are asked for is used as it is and nothing is installed.
Otherwise the repository's own `.venv` is made once and then reused; the user's environment is never changed.
The path of the interpreter to use goes to standard output, everything for people to standard error.
"""

import fcntl
import os
import subprocess
import sys
import time
import tomllib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
EXTRAS = ("reproduction", "test")  # all that .venv gets
STAMP = VENV / "installed.txt"  # written when pip has finished: a .venv without it was interrupted


def pins(*extras: str) -> dict[str, str]:
    """Package -> version of the given extras in pyproject.toml, which are pinned exactly."""
    lists = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    return dict(line.split("==") for extra in extras for line in lists[extra])


def missing(wanted: dict[str, str]) -> list[str]:
    """The pins that the running interpreter does not have; torch 2.13.0+cpu counts as torch 2.13.0."""

    def installed(name: str) -> str | None:
        try:
            return (version(name) or "").partition("+")[0]
        except PackageNotFoundError:
            return None

    return [f"{name} {pin}" for name, pin in wanted.items() if installed(name) != pin]


def stamp() -> list[str]:
    """What .venv is made from: interpreter, folder (its scripts hold absolute paths), pins and constraints."""
    question = [PYTHON, "-c", "import sys; print(*sys.version_info[:2])"]
    try:  # every time: a system upgrade may have replaced the interpreter or taken it away
        answer = subprocess.run(question, capture_output=True, text=True).stdout.strip()
    except OSError:
        answer = "none"
    constraints = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return [f"python {answer}", f"folder {ROOT}", *(f"{n}=={v}" for n, v in pins(*EXTRAS).items()), *constraints]


def venv_state() -> str:
    """'ready'; 'outdated': only the pins have changed since; or 'unusable': absent, interrupted or moved."""
    if not STAMP.exists():
        return "unusable"
    found, expected = STAMP.read_text(encoding="utf-8").splitlines(), stamp()
    if found[:2] != expected[:2]:
        return "unusable"
    return "ready" if found == expected else "outdated"


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def run(command: list, lock: int) -> None:
    """Run an installation command, with a sign of life every half minute.

    The child holds the lock too: if this process is killed, the next run waits for what is left of it.
    """
    began = time.monotonic()
    child = subprocess.Popen(command, cwd=ROOT, stdout=sys.stderr, pass_fds=[lock])
    while True:
        try:
            code = child.wait(timeout=30)
            break
        except subprocess.TimeoutExpired:
            say(f"  still installing, {time.monotonic() - began:.0f} s so far")
    if code:
        raise subprocess.CalledProcessError(code, command)


def make_venv() -> None:
    """Bring .venv to 'ready', one process at a time."""
    with open(ROOT / ".venv.lock", "w") as lock_file:
        lock = lock_file.fileno()
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("Another run is installing into .venv; waiting for it to end.")
            fcntl.flock(lock, fcntl.LOCK_EX)
        state = venv_state()
        if state == "ready":
            return
        began = time.monotonic()
        if state == "outdated":
            STAMP.unlink()
            say("The pins have changed: updating .venv.")
        else:
            say("Making the environment .venv and installing the pinned packages with pip, once: "
                "about 3 minutes and 2 GB of disk (several GB more where pip takes torch with CUDA).")
            if VENV.exists():
                say("  an older .venv, unfinished or moved here, is removed first")
            try:
                run([sys.executable, "-m", "venv", "--clear", VENV], lock)
            except subprocess.CalledProcessError:
                sys.exit(f"{sys.executable} cannot make a virtual environment; install Python's venv module "
                         "(on Debian and Ubuntu: apt install python3-venv) and run this again.")
        try:
            run([PYTHON, "-m", "pip", "install", "-qq", "--disable-pip-version-check",
                 "-c", "constraints.txt", "--editable", f".[{','.join(EXTRAS)}]"], lock)
        except subprocess.CalledProcessError:
            sys.exit("pip could not install the pinned packages (its own message is above); "
                     "set that right, for instance the network or the disk space, and run this again.")
        unfinished = STAMP.with_suffix(".part")
        unfinished.write_text("\n".join(stamp()) + "\n", encoding="utf-8")
        unfinished.rename(STAMP)
        say(f"Installed in {time.monotonic() - began:.0f} s.")


def main(extras: list[str]) -> None:
    inside_own = Path(sys.prefix).resolve() == VENV.resolve()  # then the stamp decides, not the metadata
    lacking = missing(pins(*extras))
    if not lacking and not inside_own:
        print(sys.executable)
        return
    active = os.environ.get("VIRTUAL_ENV") or os.environ.get("CONDA_PREFIX")
    if active and not inside_own:
        few = ", ".join(lacking[:3]) + (", ..." if len(lacking) > 3 else "")
        say(f"The active environment lacks {len(lacking)} of the pins ({few}): not touched, .venv is used.")
    if venv_state() != "ready":
        make_venv()
    print(PYTHON)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except KeyboardInterrupt:
        sys.exit("Interrupted; the next run starts the installation again.")
