"""Benchmarks: `python -m nretm.bench tracker` and `python -m nretm.bench model`."""
