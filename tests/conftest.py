"""Settings for all tests: no network, no screen, no time limit on a single random example."""

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import settings

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("MPLBACKEND", "Agg")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

# The same examples each time, so that a change is judged by what it changes; NRETM_EXAMPLES asks for others, and more.
settings.register_profile("nretm", deadline=None, derandomize="NRETM_EXAMPLES" not in os.environ)
settings.load_profile("nretm")


def pytest_configure(config):
    """The fast set draws fewer random examples; read by strategies.py."""
    if config.option.markexpr == "not slow":
        os.environ.setdefault("NRETM_EXAMPLES", "50")


def pytest_collection_modifyitems(items):
    """Whatever waits for the whole smoke run is slow, and comes first because it takes longest."""
    for item in items:
        if "smoke" in item.fixturenames:
            item.add_marker(pytest.mark.slow)
    items.sort(key=lambda item: "smoke" not in item.fixturenames)


ROOT = Path(__file__).resolve().parent.parent
TRAINED = ("r1-t5", "r1-nretm", "r1-nretm-enforced", "commongen-t5-base", "commongen-t5-base-grid", "ted15-mbart-pc")


@pytest.fixture(scope="session")
def smoke(tmp_path_factory):
    """run_all after it has run every notebook in the smoke profile, in a folder of its own.

    Only some experiments are trained: the tables have to do with what there is, as in anybody's first hours.
    """
    from reproduction.runner.run import Folders, Run
    from reproduction.runner.steps import all_steps, choose, keep

    folders = Folders(tmp_path_factory.mktemp("smoke"), "smoke")
    shutil.copytree(ROOT / "notebooks", folders.notebooks, ignore=shutil.ignore_patterns(".*"))
    steps = choose(all_steps("smoke"), [], tables=False)
    run = Run(keep(steps, lambda step: step.kind != "training" or step.parameters["experiment"] in TRAINED), folders,
              slots=[{"OMP_NUM_THREADS": "1"}] * 2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMP_NUM_THREADS", "1")  # also for what is measured: the other tests have the other core
        run.go()
    return run
