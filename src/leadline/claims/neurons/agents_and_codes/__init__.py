"""Agents, codes and early learning machines."""

MODULES = ("agents", "coding")
