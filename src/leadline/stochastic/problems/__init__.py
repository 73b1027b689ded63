"""Stochastic problems: finite sums, oracles, models of SGD."""
