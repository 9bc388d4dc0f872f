"""Benchmarks: `python -m reproduction bench tracker` and `python -m reproduction bench model`."""

import importlib
import sys

BENCHMARKS = {"enforcement": "the guarantee, beside the same generation without it and beside regular expressions",
              "tracker": "the tracker alone, in microseconds per token, beside a plain re-scan of the prefix",
              "model": "training steps and generation, beside the plain model and the paper's equations as they stand"}


def main() -> int | None:
    if len(sys.argv) > 1 and sys.argv[1] in BENCHMARKS:
        return importlib.import_module(f"reproduction.bench.{sys.argv.pop(1)}").main()
    print("usage: python -m reproduction bench BENCHMARK [options]\n\nbenchmarks (each has its own --help):")
    for name, measures in BENCHMARKS.items():
        print(f"  {name:10} {measures}")
    return 0 if sys.argv[1:] in ([], ["-h"], ["--help"]) else 2
