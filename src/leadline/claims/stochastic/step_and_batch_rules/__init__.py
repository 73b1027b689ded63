"""Step-size and batch rules."""

MODULES = ("step_rules", "batch_speedups")
