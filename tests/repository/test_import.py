"""The symbolic half is light: no torch, and quick to import."""

import subprocess
import sys

PROGRAM = """
import sys, time
begin = time.process_time()
import nretm
took = time.process_time() - begin
rule = nretm.parse("InSen(car, 1) & Len(1, 4)")
assert nretm.check(rule, "A red car.").satisfied and nretm.inflected("Copy(stand)").forms
assert "torch" not in sys.modules and "pandas" not in sys.modules and "matplotlib" not in sys.modules
print(took)
"""


def test_import_without_torch_in_under_a_second():
    run = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert float(run.stdout) < 1.0


def test_unknown_names_are_unknown():
    import nretm

    assert not hasattr(nretm, "equipp")
    assert set(nretm.__all__) >= {"parse", "check", "Tracker", "state_matrix", "predicate", "RuleSyntaxError", "equip"}
