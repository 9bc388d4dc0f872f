"""Every notebook, run by run_all under papermill in the smoke profile (tests/conftest.py does it once).

Then in JupyterLab as people use them: open, run all cells, type rules (Chromium, headless).
"""

import contextlib
import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

import nretm
from reproduction.runner.run import Run
from reproduction.runner.steps import all_steps

ROOT = Path(__file__).resolve().parents[2]
PLAYGROUND = "13_playground.ipynb"
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
in_browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here (on Debian: apt install chromium)")



@pytest.mark.parametrize("notebook", [path.name for path in NOTEBOOKS])
def test_runs(smoke, notebook):
    steps = [step.name for step in smoke.steps if step.notebook == notebook]
    assert steps, f"no step runs {notebook}"
    assert {name: smoke.reasons.get(name, smoke.outcome[name]) for name in steps} == dict.fromkeys(steps, "done")


@pytest.mark.parametrize("notebook", [path.name for path in NOTEBOOKS])
def test_is_stored_without_outputs_and_takes_parameters(notebook):
    cells = json.loads((ROOT / "notebooks" / notebook).read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert not any(cell["outputs"] or cell["execution_count"] for cell in code)
    assert [cell["metadata"].get("tags") for cell in code].count(["parameters"]) == 1
    assert cells[0]["cell_type"] == "markdown" and "".join(cells[0]["source"]).startswith("# ")


def test_every_step_has_its_notebook():
    assert {step.notebook for step in all_steps("demo")} == {path.name for path in NOTEBOOKS}


def test_executed_notebooks_and_results_do_not_tell_where_they_were_made(smoke):
    kinds = (".ipynb", ".json", ".jsonl", ".md", ".csv", ".html", ".svg")
    found = [path for path in smoke.folders.results.rglob("*") if path.suffix in kinds]
    texts = {path.name: path.read_text(encoding="utf-8") for path in found}
    assert len(texts) > 20
    assert not [name for name, text in texts.items() for folder in (smoke.folders.root, ROOT) if f"{folder}/" in text]


def test_report_is_a_page(smoke):
    page = (smoke.folders.results / "report.html").read_text(encoding="utf-8")
    assert "not run" in page and "Table 1" in page


def test_all_is_up_to_date_afterwards(smoke):
    assert [step.name for step in Run(smoke.steps, smoke.folders).planned] == []


# ---- in a browser ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(smoke, tmp_path_factory):
    """A copy of what the smoke profile made, since JupyterLab saves the notebooks that it opens."""
    return shutil.copytree(smoke.folders.root, tmp_path_factory.mktemp("lab") / "copy")


@pytest.fixture(scope="module")
def lab(folder):
    """JupyterLab on the loopback interface, with a token, without the user's settings: the address of a notebook."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port, token = free.getsockname()[1], secrets.token_hex(16)
    own = {f"JUPYTER_{kind}_DIR": str(folder / ".jupyter" / kind) for kind in ("CONFIG", "DATA", "RUNTIME")}
    own |= {f"JUPYTERLAB_{kind}_DIR": str(folder / ".jupyter" / kind) for kind in ("SETTINGS", "WORKSPACES")}
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1", f"--port={port}",
               "--ServerApp.port_retries=0", f"--IdentityProvider.token={token}", f"--ServerApp.root_dir={folder}"]
    environment = os.environ | own | {"PYTHONPATH": str(ROOT), "JUPYTER_PATH": f"{sys.prefix}/share/jupyter"}
    environment.pop("MPLBACKEND", None)
    with open(folder / "lab.log", "wb") as log:
        server = subprocess.Popen(command, env=environment, stdout=log, stderr=log, cwd=folder)
    try:
        _until_it_answers(f"http://127.0.0.1:{port}/api?token={token}", server, folder / "lab.log")
        yield lambda name: f"http://127.0.0.1:{port}/lab/workspaces/{name[:2]}/tree/notebooks/{name}?token={token}"
    finally:
        server.terminate()  # JupyterLab ends its kernels itself
        server.wait(timeout=30)


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


def _until_it_answers(address: str, server: subprocess.Popen, log: Path, seconds: float = 90) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end and server.poll() is None:
        with contextlib.suppress(OSError):
            urllib.request.urlopen(address, timeout=5).close()
            return
        time.sleep(0.3)
    pytest.fail(f"JupyterLab did not start:\n{log.read_text()[-2000:]}")


def run_all_cells(browser, address: str, notebook: Path):
    """Open a notebook, run it by the menu, save it; returns the page and the saved notebook."""
    page = browser.new_page(viewport={"width": 1300, "height": 1000})
    page.set_default_timeout(60_000)
    page.goto(address)
    codes = [cell for cell in json.loads(notebook.read_text())["cells"] if cell["cell_type"] == "code"]
    # JupyterLab puts cells up one after another, and "run all" would run only those that are there
    page.wait_for_function("count => document.querySelectorAll('.jp-CodeCell').length == count", arg=len(codes))
    page.locator(".jp-NotebookPanel-toolbar [data-status=idle]").wait_for()  # the kernel has started
    prompts = "[...document.querySelectorAll('.jp-CodeCell .jp-InputPrompt')].map(prompt => prompt.textContent)"
    end = time.monotonic() + 60
    while not page.evaluate(f"{prompts}.some(prompt => prompt != '[ ]:')") and time.monotonic() < end:
        # until the kernel is connected, JupyterLab shows it as idle and yet drops what it is asked to run
        page.get_by_role("menuitem", name="Run", exact=True).click()
        page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
        page.wait_for_timeout(3000)
    page.wait_for_function(
        f"""count => document.querySelector('[data-mime-type="application/vnd.jupyter.error"]')
                     || {prompts}.includes(`[${{count}}]:`)""", arg=len(codes), timeout=180_000)
    page.keyboard.press("Control+s")
    end = time.monotonic() + 30
    while not (saved := _executed(notebook)) and time.monotonic() < end:
        time.sleep(0.2)
    return page, saved


def _executed(notebook: Path) -> list[dict]:
    """The code cells of a notebook once JupyterLab has saved it with their outputs."""
    try:
        cells = json.loads(notebook.read_text())["cells"]
    except json.JSONDecodeError:  # it is being written
        return []
    codes = [cell for cell in cells if cell["cell_type"] == "code"]
    return codes if any(cell["execution_count"] for cell in codes) else []


def assert_all_ran(codes: list[dict]) -> None:
    assert codes, "JupyterLab did not save the notebook"
    failed = [out["ename"] + ": " + out["evalue"] for cell in codes for out in cell["outputs"]
              if out["output_type"] == "error"]
    assert not failed
    assert all(cell["execution_count"] for cell in codes)


@in_browser
def test_quickstart(browser, lab, folder):
    name = "00_quickstart.ipynb"
    page, codes = run_all_cells(browser, lab(name), folder / "notebooks" / name)
    assert_all_ran(codes)
    heatmap = page.locator(".jp-OutputArea-output img").first
    heatmap.scroll_into_view_if_needed()
    assert heatmap.evaluate("image => image.naturalWidth") > 300
    page.close()


@pytest.fixture(scope="module")
def playground(browser, lab, folder):
    """The playground in JupyterLab after all of its cells have run."""
    notebook = folder / "notebooks" / PLAYGROUND
    changed = notebook.read_text().replace("rules_of_each_kind = 6", "rules_of_each_kind = 1")
    notebook.write_text(changed.replace('profile = \\"demo\\"', 'profile = \\"smoke\\"'))
    page, codes = run_all_cells(browser, lab(PLAYGROUND), notebook)
    assert_all_ran(codes)
    yield page
    page.close()


def type_rule(page, rule: str) -> None:
    """Type a rule, press the button, wait until the kernel has answered."""
    idle = page.locator(".jp-NotebookPanel-toolbar [data-status=idle]")
    idle.wait_for()  # or the answer to what came before would reset the field
    page.locator(".nretm-playground input[type=text]").fill(rule)
    page.get_by_role("button", name="Write").click()
    page.wait_for_timeout(1000)
    idle.wait_for()


@in_browser
def test_playground_writes_a_story_that_obeys_the_typed_rule(playground):
    obeyed_alone = "InSen(planted seeds, 2) & Len(2, 8)"
    obeyed_by_force = "InSen(kate, 1) & Len(5, 12) & not Copy(cows)"
    for rule in (obeyed_alone, obeyed_by_force):
        if rule == obeyed_by_force:
            playground.get_by_role("checkbox", name="enforce").check()
        type_rule(playground, rule)
        playground.locator(".nretm-playground", has_text=rule.rpartition(" & ")[2]).wait_for()
        assert playground.locator(".nretm-playground .nretm-error").count() == 0
        written = playground.locator(".nretm-playground .nretm-prefix").inner_text()
        assert nretm.check(rule, " ".join(written.split()).removesuffix(" end")).satisfied
        assert "✓ obeys the rule" in playground.locator(".nretm-playground .nretm-card").first.inner_text()
    playground.get_by_role("checkbox", name="enforce").uncheck()
    playground.wait_for_timeout(1000)


@in_browser
def test_playground_answers_nonsense_with_a_sentence(playground):
    for typed, said in (("InSen(seeds, 2) & Lem(2, 7)", "did you mean Len?"), ("Copy(dragon)", "'dragon'")):
        type_rule(playground, typed)
        shown = playground.locator(".nretm-playground .nretm-error")
        shown.filter(has_text=said).wait_for()
        assert "Traceback" not in playground.locator(".nretm-playground").inner_text()
    type_rule(playground, "Copy(seeds) & Lem(2, 7)")
    lines = playground.locator(".nretm-error").inner_text().splitlines()
    assert lines[-1].index("^") == lines[-2].index("Lem")


@in_browser
def test_playground_slider_changes_the_picture_and_goes_by_keyboard(playground):
    type_rule(playground, "InSen(planted seeds, 2) & Len(3, 7)")
    box = playground.locator(".nretm-playground")
    look = "() => ['.nretm-next', '.cursor', '.nretm-bars'].map(part => document.querySelector(" \
           "'.nretm-playground ' + part).outerHTML)"
    before = playground.evaluate(look)
    handle = box.locator(".noUi-handle")
    handle.click()
    side = "ArrowLeft" if float(handle.get_attribute("aria-valuenow")) > 3 else "ArrowRight"
    for _ in range(3):
        playground.keyboard.press(side)
    playground.wait_for_function(f"before => ({look})().every((part, i) => part != before[i])", arg=before)


@in_browser
def test_page_without_a_kernel(browser, folder):
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto((folder / "results" / "smoke" / "playground.html").as_uri())
    look = "() => ['step', 'text', 'bars', 'matrix'].map(part => document.getElementById(part).innerHTML)"
    first = page.evaluate(look)
    page.select_option("#rules", "3")
    second = page.evaluate(look)
    page.locator("#slider").fill("2")
    third = page.evaluate(look)
    assert all(len(set(seen)) == 3 for seen in zip(first, second, third, strict=True)) and not errors
    assert page.evaluate("document.documentElement.scrollWidth <= 1280")  # nothing to scroll sideways
    page.close()
