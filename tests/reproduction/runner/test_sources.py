"""What a step depends on follows from imports; docstrings and pictures make no training stale."""

import pytest

from reproduction.runner import sources
from reproduction.runner.sources import code_digest, notebook_imports

FILES = {
    "nretm/__init__.py": "from nretm.rules import check",
    "nretm/rules.py": '"""Rules."""\n\n\ndef check():\n    """Says whether."""\n    import nretm.picture\n    return 1',
    "nretm/picture.py": "import matplotlib.pyplot as plt\nimport nretm.colours",
    "nretm/colours.py": "RED = 1",
    "reproduction/__init__.py": "",
    "reproduction/training.py": "import torch\nfrom nretm import check",
    "reproduction/tables.py": "import nretm",
}


@pytest.fixture
def edit(tmp_path, monkeypatch):
    """Writes a file of a small copy of the two houses, and gives what training and tables depend on."""
    monkeypatch.setattr(sources, "ROOT", tmp_path)

    def write(name: str, text: str) -> tuple[str, str]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
        sources._code.cache_clear()
        sources._parsed.cache_clear()
        return code_digest(["reproduction.training"], drawing=False), code_digest(["reproduction.tables"])

    for name, text in FILES.items():
        write(name, text)
    return write


@pytest.mark.parametrize("name, text, stale", [
    ("nretm/rules.py", FILES["nretm/rules.py"].replace("Says", "Tells").replace("Rules.", "What rules are."), (0, 0)),
    ("nretm/rules.py", FILES["nretm/rules.py"] + "  # a comment", (0, 0)),
    ("nretm/rules.py", FILES["nretm/rules.py"].replace("return 1", "return 2"), (1, 1)),
    ("nretm/picture.py", FILES["nretm/picture.py"] + "\nDPI = 300", (0, 1)),
    ("nretm/colours.py", "RED = 2", (0, 1)),
    ("nretm/unused.py", "1", (0, 0)),
    ("reproduction/tables.py", "import nretm\nWIDE = 1", (0, 1)),
    ("reproduction/training.py", "import torch\nfrom nretm import check\nSTEPS = 1", (1, 0)),
])
def test_only_code_that_is_imported_counts(edit, name, text, stale):
    before = edit("nretm/rules.py", FILES["nretm/rules.py"])
    after = edit(name, text)
    assert tuple(int(old != new) for old, new in zip(before, after, strict=True)) == stale


def test_the_imports_of_a_notebook():
    cells = ["%matplotlib inline\nimport nretm", "from reproduction.report import tables", "!ls\nx = 1"]
    assert notebook_imports(cells) == {"nretm", "reproduction.report", "reproduction.report.tables"}


def test_a_training_depends_on_the_model_and_the_data_and_not_on_tables_or_runner():
    found = set()
    original = sources.module_file
    try:
        sources.module_file = lambda name: found.add(name) or original(name)
        code_digest(["reproduction.training"], drawing=False)
    finally:
        sources.module_file = original
    assert {"nretm.modeling.cross_attention", "reproduction.data.stories", "nretm.tracking.tracker"} <= found
    assert not {"reproduction.report.tables", "reproduction.report.claims", "reproduction.runner.run"} & found
