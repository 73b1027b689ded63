"""Sloppy models."""

MODULES = (
    "regression_models",
    "data_embeddings",
    "geodesics",
    "stiffness",
    "stiff_training",
    "vandermonde",
    "local_models",
    "orbits",
)
