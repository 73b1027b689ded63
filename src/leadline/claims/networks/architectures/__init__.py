"""Architectures."""

MODULES = ("layers", "architectures", "residual", "features")
