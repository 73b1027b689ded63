"""Noise and virtual examples."""

MODULES: tuple[str, ...] = ()
