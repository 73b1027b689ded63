"""Normalisation by layer, group, weight and covariance."""

MODULES: tuple[str, ...] = ()
