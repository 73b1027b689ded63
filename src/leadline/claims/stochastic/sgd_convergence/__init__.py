"""Convergence of SGD."""

MODULES = (
    "expected_progress",
    "descent_lemmas",
    "constant_steps",
    "noise_floors",
    "decaying_steps",
    "cost_comparison",
    "cost_of_data",
)
