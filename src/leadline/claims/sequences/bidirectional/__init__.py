"""Bidirectional models."""

MODULES = ("both_directions", "infilling")
