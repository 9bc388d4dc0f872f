"""A run ends with how its figures differ from those that came with the clone."""

import shutil
import subprocess

import numpy as np
from runs import share, write

from reproduction.report import changes
from reproduction.report.run_files import read_runs


def test_same_and_changed(tmp_path):
    write(tmp_path, "zeroshot-nretm", {"CSA": share(95), "MR": share(50)})
    write(tmp_path, "zeroshot-t5", {"CSA": share(20)})
    before = read_runs(tmp_path)
    assert changes.described({}, before) == []
    assert changes.described(before, before) == [
        "Compared with the results that came with this clone, 3 figures are the same and 0 differ.",
        "Same outcome: 1 of 11 claims held; 10 were not run, as before."]
    write(tmp_path, "zeroshot-t5", {"CSA": share(30)})
    moved = changes.described(before, read_runs(tmp_path))
    assert moved[0].endswith("2 figures are the same and 1 differ.")
    assert moved[2].split() == ["zeroshot-t5", "CSA", "20.0", "30.0", "+10.0"] and moved[3].startswith("Same outcome")
    write(tmp_path, "zeroshot-nretm", {"CSA": share(85), "MR": share(50)})
    fallen = changes.described(before, read_runs(tmp_path))
    assert fallen[-2] == "Not the same outcome:" and "✓ held then, ✗ not held now (CSA: NRETM 85.0" in fallen[-1]


def test_what_came_with_the_clone_is_what_git_has(tmp_path):
    results = tmp_path / "results" / "demo"
    write(results, "r1-t5", {"CSR": share(20)})
    assert changes.committed_runs(results, tmp_path) == {}  # no clone
    git = shutil.which("git")
    for command in (["init", "-q"], ["add", "."], ["-c", "user.name=x", "-c", "user.email=x", "commit", "-qm", "x"]):
        subprocess.run([git, *command], cwd=tmp_path, check=True)
    write(results, "r1-t5", {"CSR": share(30)})
    run, = changes.committed_runs(results, tmp_path)["r1-t5"]
    assert np.isclose(run["scores"]["CSR"].value, 20)
    assert changes.compare(results, tmp_path)[2].split() == ["r1-t5", "CSR", "20.0", "30.0", "+10.0"]
