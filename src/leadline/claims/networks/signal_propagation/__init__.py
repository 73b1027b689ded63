"""Initialisation and signal propagation."""

MODULES = ("initialisation", "norm_growth", "signal_propagation", "isometry", "trainability")
