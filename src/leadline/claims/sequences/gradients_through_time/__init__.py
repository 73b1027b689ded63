"""Gradients through time."""

MODULES = (
    "backpropagation",
    "two_steps",
    "truncation",
    "norm_bounds",
    "vanishing",
    "exploding",
    "isometry",
    "product_spectra",
    "memory",
    "saturated_units",
    "distant_cues",
    "nonlinearities",
    "clipping",
    "orthogonal_weights",
)
