"""Noise and virtual examples."""

MODULES: tuple[str, ...] = ("injection", "penalties", "virtual_examples")
