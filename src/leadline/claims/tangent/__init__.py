"""Tangent kernels, training seen in function space, networks of infinite width, lazy training."""

SECTIONS = (
    "tangent_space",
    "function_space",
    "linearised_training",
    "gaussian_limit",
    "tangent_limit",
    "lazy_training",
)
