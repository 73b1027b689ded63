"""Covariate shift."""

MODULES: tuple[str, ...] = ()
