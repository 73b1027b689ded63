"""Averaging."""

MODULES = ("averaging", "averaged_rates")
