"""What README.md and docs/ say: snippets run, figures are those of the run files, links lead somewhere."""

import importlib.util
import io
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from nretm import cli
from reproduction.report import docs

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def snippets(page: str, language: str) -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def run(page: str, folder: Path) -> str:
    """All Python of a page as one program, from a folder that looks like the root."""
    (folder / "reproduction").symlink_to(ROOT / "reproduction")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]), "PYTHONWARNINGS": "ignore"}
    done = subprocess.run([sys.executable, "-c", "\n".join(snippets(page, "python"))], cwd=folder, env=environment,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_readmes_python_runs_as_it_stands(tmp_path):
    said = run("README.md", tmp_path)
    assert "Verdict(satisfied=" in said and "not Copy(snow) (in sentence 2)" in said
    assert (tmp_path / "states.png").stat().st_size > 10_000 and (tmp_path / "my-nretm" / "nretm.json").exists()


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("peft") is None, reason="peft is not installed")
def test_the_page_on_lora_runs_as_it_stands(tmp_path):
    assert "trainable params" in run("docs/lora.md", tmp_path)
    assert (tmp_path / "my-adapter" / "adapter_model.safetensors").exists()


def test_the_readmes_commands_need_nothing_activated(monkeypatch, capsys):
    commands = [line for block in snippets("README.md", "bash") for line in block.splitlines()]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for command in commands:
        for program in re.findall(r"(?:^|&& |\| )(\S+)", command):
            if program.startswith("./"):
                assert os.access(ROOT / program, os.X_OK), command
            else:
                assert program in ("python3", "echo", ".venv/bin/pip", ".venv/bin/jupyter") or \
                    program.removeprefix(".venv/bin/") in project["scripts"], command
    said, rule = re.search(r'echo "(.*)" \| \.venv/bin/nretm check "(.*)" -', "\n".join(commands)).groups()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(said.encode())))
    assert cli.main(["check", rule, "-"]) == 0


def test_the_readme_is_short():
    words = (ROOT / "README.md").read_text(encoding="utf-8").split()
    assert sum(any(sign.isalnum() for sign in word) for word in words) < 1000  # the bars of a table are no words


@pytest.mark.parametrize("page", docs.PAGES)
def test_figures_are_those_of_the_run_files(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    assert text.count("<!-- figures: ") == text.count("<!-- end -->") > 0
    assert docs.filled(text, ROOT / "results" / "demo") == text
    typed = re.findall(r"\b\d+\.\d\b(?! ?GB)", docs._BLOCK.sub("", text))
    assert not [figure for figure in typed if figure not in ("3.11", "3.13", "0.21")], typed


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        path, _, anchor = target.partition("#")
        if "://" in target:
            continue
        linked = (page.parent / path) if path else page
        assert linked.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.*)$", linked.read_text(encoding="utf-8"), re.MULTILINE)
            slugs = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
            assert anchor in slugs, target
