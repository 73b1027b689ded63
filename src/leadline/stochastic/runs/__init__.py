"""Runs of stochastic gradient methods."""
