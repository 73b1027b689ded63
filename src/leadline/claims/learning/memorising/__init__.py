"""Memorising is not learning."""

MODULES = ("memorising", "spurious")
