"""Measurements of an objective and of a run: convexity, constants, convergence."""
