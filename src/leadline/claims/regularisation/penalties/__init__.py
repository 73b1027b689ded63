"""Norm penalties."""

MODULES = ("penalised_objectives", "decay", "ridge", "shrinkage", "constraints")
