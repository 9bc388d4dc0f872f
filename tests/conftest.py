"""Settings for all tests: no network, no screen, no time limit on a single random example."""

import os

from hypothesis import settings

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("MPLBACKEND", "Agg")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

settings.register_profile("nretm", deadline=None)
settings.load_profile("nretm")
