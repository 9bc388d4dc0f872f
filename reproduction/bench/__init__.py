"""Benchmarks: `python -m reproduction bench tracker` and `python -m reproduction bench model`."""

import importlib
import sys

BENCHMARKS = ("tracker", "model")


def main() -> None:
    if len(sys.argv) < 2 or sys.argv[1] not in BENCHMARKS:
        sys.exit(f"usage: python -m reproduction bench {{{','.join(BENCHMARKS)}}} [options]")
    importlib.import_module(f"reproduction.bench.{sys.argv.pop(1)}").main()
