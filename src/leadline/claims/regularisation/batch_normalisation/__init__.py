"""Batch normalisation."""

MODULES: tuple[str, ...] = ()
