"""Test problems and vector facts."""

MODULES = ("objectives",)
