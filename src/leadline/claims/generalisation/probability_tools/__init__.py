"""Probability tools."""

MODULES = ("held_out_sets",)
