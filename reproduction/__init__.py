"""The reproduction of the paper: data, training, evaluation, tables, report. In the checkout only, not in the wheel."""

import os

os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")  # torch, on Linux: large pages; a quarter of a step was page faults
