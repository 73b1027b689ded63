"""Soft targets and distillation."""

MODULES: tuple[str, ...] = ()
