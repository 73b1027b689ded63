"""Soft targets and distillation."""

MODULES: tuple[str, ...] = ("label_smoothing", "students", "transfer_sets")
