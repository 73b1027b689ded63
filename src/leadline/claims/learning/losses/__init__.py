"""Losses."""

MODULES = ("losses", "surrogates", "metrics")
