"""Deterministic optimisation: convexity, smoothness, descent, Newton, momentum, lower bounds, adaptive methods."""

SECTIONS = (
    "test_problems",
    "convexity",
    "smoothness",
    "polyak_lojasiewicz",
    "gradient_descent",
    "gradient_flow",
    "newton",
    "lower_bounds",
    "momentum",
    "momentum_flows",
    "adaptive_methods",
)
