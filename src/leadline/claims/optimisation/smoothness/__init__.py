"""Smoothness and conditioning."""

MODULES = ("smoothness", "co_coercivity", "measured_constants", "network_curvature")
