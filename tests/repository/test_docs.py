"""Every file that a page of the documentation points to is there."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    targets = re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8"))
    inside = [target for target in targets if "://" not in target]
    assert not [target for target in inside if not (page.parent / target).exists()]


def test_the_map_has_every_module_of_the_library():
    """Each file of the paper's ideas is on the map; what remains serves those that are."""
    page = (ROOT / "docs" / "map.md").read_text(encoding="utf-8")
    helpers = {"arguments", "beam_loop", "diverse_beams", "spelling", "stop_words", "version", "word_tokenizer",
               "writing"}
    modules = {path.stem for path in (ROOT / "nretm").rglob("*.py")} - {"__init__"}
    assert not {name for name in modules - helpers if f"{name}.py" not in page}


@pytest.mark.parametrize("page", [*PAGES, *sorted((ROOT / "notebooks").glob("*.ipynb"))], ids=lambda page: page.name)
def test_commands_need_nothing_activated(page):
    """A command is written as it works right after ./run_all.sh or ./run_tests.sh."""
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".ipynb":
        cells = json.loads(text)["cells"]
        text = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    assert not re.findall(r"(?<!\.venv/bin/)(?:python -m reproduction|nretm (?:check|show) )", text)
