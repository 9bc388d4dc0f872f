"""The notebooks in JupyterLab as people use them: open, run all cells, move the slider (Chromium, headless)."""

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

ROOT = Path(__file__).resolve().parents[2]
EXPLORER = "13_state_explorer.ipynb"
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

pytestmark = [pytest.mark.slow,
              pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here (on Debian: apt install chromium)")]


@pytest.fixture(scope="module")
def folder(smoke, tmp_path_factory):
    """A copy of what the smoke profile made, since JupyterLab saves the notebooks that it opens."""
    return shutil.copytree(smoke.place.root, tmp_path_factory.mktemp("lab") / "copy")


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
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    page.wait_for_function(
        """count => {
            const prompts = [...document.querySelectorAll('.jp-CodeCell .jp-InputPrompt')].map(e => e.textContent);
            const failed = document.querySelector('[data-mime-type="application/vnd.jupyter.error"]');
            return failed || prompts.includes(`[${count}]:`);
        }""", arg=len(codes), timeout=180_000)
    page.keyboard.press("Control+s")
    end = time.monotonic() + 30
    while not (saved := _executed(notebook)) and time.monotonic() < end:
        time.sleep(0.2)
    return page, saved


def _executed(notebook: Path) -> list[dict]:
    """The code cells of a notebook once JupyterLab has saved it with their outputs."""
    codes = [cell for cell in json.loads(notebook.read_text())["cells"] if cell["cell_type"] == "code"]
    return codes if any(cell["execution_count"] for cell in codes) else []


def assert_all_ran(codes: list[dict]) -> None:
    assert codes, "JupyterLab did not save the notebook"
    failed = [out["ename"] + ": " + out["evalue"] for cell in codes for out in cell["outputs"]
              if out["output_type"] == "error"]
    assert not failed
    assert all(cell["execution_count"] for cell in codes)


def test_quickstart(browser, lab, folder):
    name = "00_quickstart.ipynb"
    page, codes = run_all_cells(browser, lab(name), folder / "notebooks" / name)
    assert_all_ran(codes)
    heatmap = page.locator(".jp-OutputArea-output img").first
    heatmap.scroll_into_view_if_needed()
    assert heatmap.evaluate("image => image.naturalWidth") > 300
    page.close()


def test_explorer_slider_changes_the_picture(browser, lab, folder):
    notebook = folder / "notebooks" / EXPLORER
    notebook.write_text(notebook.read_text().replace('profile = \\"demo\\"', 'profile = \\"smoke\\"'))
    page, codes = run_all_cells(browser, lab(EXPLORER), notebook)
    assert_all_ran(codes)
    handle = page.locator(".widget-slider .noUi-handle")
    handle.scroll_into_view_if_needed()
    step, before = page.locator(".widget-slider .widget-readout").inner_text(), settled_pictures(page)
    handle.click()
    for _ in range(3):
        page.keyboard.press("ArrowLeft")
    after = settled_pictures(page, other_than=before)
    assert int(page.locator(".widget-slider .widget-readout").inner_text()) == int(step) - 3
    assert before and after and before != after
    page.close()


def settled_pictures(page, other_than=(), seconds: float = 60) -> list[str]:
    """The pictures of the slider's cell, once two looks a second apart see the same."""
    end, seen = time.monotonic() + seconds, None
    while time.monotonic() < end:
        now = page.evaluate("""() => [...document.querySelector('.widget-slider').closest('.jp-Cell-outputWrapper')
                                     .querySelectorAll('img')].map(image => image.src)""")
        if now and now == seen and now != other_than:
            break
        seen = now
        page.wait_for_timeout(1000)
    return now
