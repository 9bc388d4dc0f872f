"""Two processes (gloo, on the CPU) train as one does on the joined batch; no distributed code of our own is needed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SCRIPT = str(HERE / "two_steps.py")
STARTS = {
    1: [sys.executable, SCRIPT],
    2: [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", SCRIPT],
}


def run(processes: int, folder: Path) -> dict:
    path = folder / f"{processes}.json"
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": f"{HERE.parents[1]}{os.pathsep}{HERE.parent}",
                                "GLOO_SOCKET_IFNAME": "lo"}
    done = subprocess.run([*STARTS[processes], str(path)], env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return json.loads(path.read_text())


@pytest.mark.slow
def test_two_processes_find_the_loss_of_one(tmp_path):
    one, two = run(1, tmp_path), run(2, tmp_path)
    assert (one["processes"], two["processes"]) == (1, 2) and len(one["losses"]) == 2
    assert two["losses"] == pytest.approx(one["losses"], rel=1e-5)
    for ours, theirs in zip(two["gradients"], one["gradients"], strict=True):
        assert max(theirs) > 0 and ours == pytest.approx(theirs, rel=1e-4, abs=1e-6)
