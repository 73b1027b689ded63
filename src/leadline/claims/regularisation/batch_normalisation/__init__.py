"""Batch normalisation."""

MODULES = (
    "forward",
    "gradients",
    "running_statistics",
    "mode_gaps",
    "covariate_shift",
    "learning_rates",
    "affine_part",
    "order",
    "rectified_inputs",
)
