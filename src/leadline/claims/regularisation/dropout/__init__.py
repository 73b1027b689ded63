"""Dropout."""

MODULES: tuple[str, ...] = ()
