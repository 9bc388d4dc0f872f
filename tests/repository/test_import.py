"""The symbolic half is light: it loads no torch, nothing to draw with and no model library."""

import subprocess
import sys

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


def test_unknown_names_are_unknown():
    import nretm

    assert not hasattr(nretm, "equipp")
    assert set(nretm.__all__) >= {"parse", "check", "Tracker", "state_matrix", "predicate", "RuleSyntaxError", "equip"}
