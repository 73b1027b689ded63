"""Kernel machines."""

MODULES = ("risk_minimisers", "expansions", "ridge", "processes", "perceptron")
