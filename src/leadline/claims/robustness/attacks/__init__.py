"""Attacks."""

MODULES = ("attacks", "smallest_changes", "attack_strength")
