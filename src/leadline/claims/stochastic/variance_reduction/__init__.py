"""Variance reduction."""

MODULES = ("control_variates", "variance_reduction", "buffer_averages", "variance_reduced_rates")
