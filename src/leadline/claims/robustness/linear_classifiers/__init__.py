"""Norms and linear classifiers."""

MODULES = ("linear_classifiers",)
