"""Covariate shift."""

MODULES: tuple[str, ...] = ("covariate_shift",)
