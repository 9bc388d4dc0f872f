"""Run one notebook by papermill in a process of its own: `python -m reproduction.runner.execute <job as JSON>`.

The executed notebook appears under its name only when every cell has run. A failure leaves what ran beside the logs,
and its last line on standard error says which cell failed and why.
"""

import json
import os
import re
import sys
import threading
import time
from pathlib import Path

from reproduction.files import ROOT, write_whole

_CELL = re.compile(r"[^\s\"]*/ipykernel_\d+/\d+\.py")  # where a warning says that a cell stands


def main(job: dict) -> int:
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    sys.modules["rfc3987_syntax"] = None  # jsonschema can do without; it would build its grammar for two seconds
    from nbclient.exceptions import DeadKernelError
    from papermill import PapermillExecutionError, execute_notebook

    partial, executed = Path(job["partial"]), Path(job["executed"])
    for path in (partial, executed):
        path.parent.mkdir(parents=True, exist_ok=True)
    try:
        # run where JupyterLab would run it, by the interpreter that runs this
        execute_notebook(job["notebook"], partial, job["parameters"], kernel_name="python3", language="python",
                         progress_bar=False, start_timeout=300, cwd=Path(job["notebook"]).parent)
    except PapermillExecutionError as error:
        return _failed(f"cell [{error.exec_count}]: {error.ename}: {error.evalue}")
    except DeadKernelError:
        return _failed(f"cell [{_running_cell(partial)}]: the kernel died (was there enough memory?)")
    _clean(partial, job["root"], job["parameters"].get("data"))
    os.replace(partial, executed)
    return 0


def _failed(sentence: str) -> int:
    print(" ".join(sentence.split())[:300], file=sys.stderr)
    return 1


def _running_cell(notebook: Path) -> int:
    """The number that the last cell to be begun has, or would have got; cells without code get none."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code" and cell["source"]]
    return sum(bool(cell["metadata"]["papermill"]["start_time"]) for cell in code)


def _clean(notebook: Path, root: str, data: str | None) -> None:
    """An executed notebook is shown to others: without this machine's folders and what only lives with a kernel."""
    content = json.loads(notebook.read_text(encoding="utf-8"))
    for key in ("input_path", "output_path", "environment_variables"):
        content["metadata"]["papermill"].pop(key, None)
    content = _for_readers(content)
    text = json.dumps(content, ensure_ascii=False, indent=1)
    if data and Path(data).is_absolute():
        text = text.replace(data, "DIR")
    for folder, name in ((root, "."), (str(ROOT), "."), (sys.prefix, "python"), (str(Path.home()), "~")):
        if folder not in ("/", "/usr", "/usr/local"):  # those are nobody's own
            text = text.replace(f"{folder}/", f"{name}/")
    write_whole(notebook, "".join(f"{_without_cells(line)}\n" for line in text.split("\n")))


def _without_cells(line: str) -> str:
    """A picture is a line of a hundred thousand letters, which the pattern must not crawl over; none has this in it."""
    return _CELL.sub("cell", line) if "/ipykernel_" in line else line


def _for_readers(content: dict) -> dict:
    """One cell of parameters instead of two, and no widgets, progress bars among them, which die with their kernel."""
    content["metadata"].pop("widgets", None)
    tagged = {tag: cell for cell in content["cells"] for tag in cell["metadata"].get("tags", ())}
    injected = tagged.get("injected-parameters")
    cells = [cell for cell in content["cells"] if cell is not injected]
    for cell in cells:
        if injected and "parameters" in cell["metadata"].get("tags", ()):
            cell["source"] = _with_values("".join(cell["source"]), "".join(injected["source"]))
    for number, cell in enumerate((cell for cell in cells if cell["cell_type"] == "code"), 1):
        cell["outputs"] = [output for output in cell["outputs"] if WIDGET not in output.get("data", {})]
        for counted in (cell, *(output for output in cell["outputs"] if "execution_count" in output)):
            counted["execution_count"] = number
    return content | {"cells": cells}


WIDGET = "application/vnd.jupyter.widget-view+json"


def _with_values(defaults: str, injected: str) -> str:
    """Lines such as `profile = "demo"  # whose results are shown`, with the values that the notebook was run with."""
    values = dict(line.split(" = ", 1) for line in injected.splitlines() if " = " in line)

    def line_of(line: str) -> str:
        name, is_set, rest = line.partition(" = ")
        if not is_set or name not in values:
            return line
        comment = rest.partition("  #")[2]
        return f"{name} = {values.pop(name)}" + (f"  #{comment}" if comment else "")

    lines = [line_of(line) for line in defaults.splitlines()]
    return "\n".join(lines + [f"{name} = {value}" for name, value in values.items()])


def _end_with(parent: int) -> None:
    """If run_all is killed, nothing of it may go on: its next run would train the same model at the same time."""
    while os.getppid() == parent:
        time.sleep(0.5)
    stop(os.getpid())
    os._exit(1)


def stop(pid: int) -> None:
    """End a process and all that it started (a kernel is not in its process group)."""
    import psutil

    try:
        process = psutil.Process(pid)
        tree = process.children(recursive=True) + ([process] if pid != os.getpid() else [])
    except psutil.NoSuchProcess:
        return
    for child in tree:
        try:
            child.terminate()
        except psutil.NoSuchProcess:
            pass
    _, alive = psutil.wait_procs(tree, timeout=5)
    for child in alive:
        child.kill()


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])))
