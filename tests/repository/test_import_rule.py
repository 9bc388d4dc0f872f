"""The wall between the two houses, and the one way that data flows inside the library.

text <- rules <- tracking <- modeling: each room imports itself and those to its left. The library never imports the
reproduction; the reproduction and the notebooks reach the library by `nretm` and its rooms, never by a module inside
one, and use no name that begins with an underscore. What ./run_all.sh starts with is the standard library alone.
"""

import ast
import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("text", "rules", "tracking", "modeling")
LIBRARY = sorted((ROOT / "nretm").rglob("*.py"))
REPRODUCTION = sorted((ROOT / "reproduction").rglob("*.py"))
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
STARTS = ("reproduction.__main__", "reproduction.runner.run", "reproduction.runner.steps")


def tree(path: Path) -> ast.Module:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        cells = ["".join(cell["source"]) for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
        text = "\n".join("" if line.startswith(("%", "!")) else line for cell in cells for line in cell.splitlines())
    return ast.parse(text)


def imports(path: Path) -> list[str]:
    """The modules that a file imports, inside functions too."""
    found = []
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found.append("." * node.level + (node.module or ""))
    return found


def at_start(path: Path) -> list[str]:
    """The modules that are loaded when a file is; a name that is imported may be a module too."""
    found = []
    for node in tree(path).body:
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return found


def ours(path: Path) -> list[list[str]]:
    return [name.split(".") for name in imports(path) if name.split(".")[0] == "nretm"]


@pytest.mark.parametrize("path", LIBRARY, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_library_imports_to_the_left_only(path):
    assert not [name for name in imports(path) if name.startswith(("reproduction", "."))]
    room = path.relative_to(ROOT / "nretm").parts[0]
    if room in ROOMS:
        allowed = (*ROOMS[:ROOMS.index(room) + 1], "version")
        assert not [name for name in ours(path) if len(name) == 1 or name[1] not in allowed]


@pytest.mark.parametrize("path", REPRODUCTION + NOTEBOOKS, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_reproduction_uses_public_names_only(path):
    assert not [name for name in ours(path) if len(name) > 2 or (len(name) == 2 and name[1] not in ROOMS)]
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("nretm"):
            assert not [alias.name for alias in node.names if alias.name.startswith("_")]
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "nretm":
            assert not node.attr.startswith("_") or node.attr == "__version__"


def test_the_runner_starts_on_the_standard_library():
    waiting, seen = list(STARTS), set()
    while waiting:
        name = waiting.pop()
        path = ROOT.joinpath(*name.split("."))
        path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        if name in seen or not path.exists():
            continue
        seen.add(name)
        waiting += [".".join(name.split(".")[:-1])] if "." in name else []
        for module in at_start(path):
            top = module.split(".")[0]
            assert top in sys.stdlib_module_names or top == "reproduction", f"{name} imports {module}"
            waiting.append(module)
    assert "reproduction.settings" in seen
