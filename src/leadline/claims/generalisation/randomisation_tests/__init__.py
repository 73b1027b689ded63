"""Randomisation tests."""

MODULES = ("random_labels",)
