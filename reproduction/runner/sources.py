"""Which code a step depends on, read from the syntax trees: what it imports, directly or not (standard library only).

Docstrings and comments decide nothing, so a sentence made clearer makes no training stale. Nor does a picture: a
training draws nothing, so modules that import matplotlib are left out of what it depends on.
"""

import ast
import hashlib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from reproduction.files import ROOT

HOUSES = ("nretm", "reproduction")


def code_digest(roots: Iterable[str], drawing: bool = True) -> str:
    """A hash of the code of these modules of ours and of all that they import; `drawing`: pictures count as well."""
    found: dict[str, str] = {}
    waiting = set(roots)
    while waiting:
        name = waiting.pop()
        path = module_file(name)
        if name in found or path is None:
            continue
        tree = _parsed(path)
        imported = set(_imports(tree))
        if not drawing and any(module.partition(".")[0] == "matplotlib" for module in imported):
            found[name] = ""
            continue
        found[name] = _code(path)
        parts = name.split(".")
        waiting |= {".".join(parts[:n]) for n in range(1, len(parts))}  # packages run first
        waiting |= {module for module in imported if module.partition(".")[0] in HOUSES}
    return hash_of("\n".join(f"{name} {code}" for name, code in sorted(found.items()) if code).encode())


def notebook_imports(cells: Iterable[str]) -> set[str]:
    """The modules that the code cells of a notebook import."""
    return set().union(*(set(_imports(ast.parse(_python_only(cell)))) for cell in cells))


def module_file(name: str) -> Path | None:
    """The file of a module of ours; None if there is none of that name."""
    path = ROOT.joinpath(*name.split("."))
    candidates = (path / "__init__.py", path.with_suffix(".py"))
    return next((candidate for candidate in candidates if candidate.is_file()), None)


def hash_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


@cache
def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def _code(path: Path) -> str:
    """A hash of a module's syntax tree without its docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node, clean=False):
            node.body = node.body[1:]
    return hash_of(ast.dump(tree).encode())


def _imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)  # each may be a module


def _python_only(cell: str) -> str:
    return "\n".join("pass" if line.startswith(("%", "!")) else line for line in cell.splitlines())
