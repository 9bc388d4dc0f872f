"""The symbolic half is light: it loads no torch, nothing to draw with and no model library."""

import ast
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import sys
import nretm
rule = nretm.parse("InSen(car, 1) & Len(1, 4)")
assert nretm.check(rule, "A red car.").satisfied and nretm.inflected("Copy(stand)").forms
nretm.state_matrix(rule, "A red car.").rows()
print(*sorted({"torch", "transformers", "tokenizers", "pandas", "matplotlib"} & set(sys.modules)))
"""


def test_rules_checks_and_matrices_load_no_torch():
    run = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == []


def test_type_checkers_see_the_lazy_names():
    """Under TYPE_CHECKING the package imports just the names that it loads when they are first used."""
    import nretm

    tree = ast.parse(Path(nretm.__file__).read_text(encoding="utf-8"))
    guarded = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    names = [alias.name for node in guarded for line in node.body for alias in line.names]
    assert names and set(names) == set(nretm._NEURAL) and all(hasattr(nretm, name) for name in nretm.__all__)
    assert {"Rule", "Verdict", *names} <= set(nretm.__all__)
    assert Path(nretm.__file__).with_name("py.typed").exists()


def test_unknown_names_are_unknown():
    import nretm

    assert not hasattr(nretm, "equipp")
    assert set(nretm.__all__) >= {"parse", "check", "Tracker", "state_matrix", "predicate", "RuleSyntaxError", "equip"}
