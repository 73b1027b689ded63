"""Exact moments of stochastic recursions."""
