"""`python -m nretm.bench tracker` or `python -m nretm.bench model`, options behind it."""

import importlib
import sys

BENCHMARKS = ("tracker", "model")

if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in BENCHMARKS:
        sys.exit(f"usage: python -m nretm.bench {{{','.join(BENCHMARKS)}}} [options]")
    name = sys.argv.pop(1)
    importlib.import_module(f"nretm.bench.{name}").main()
