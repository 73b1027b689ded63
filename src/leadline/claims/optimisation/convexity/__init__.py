"""Convexity."""

MODULES = ("convexity", "convex_functions", "convexity_orders", "minimisers")
