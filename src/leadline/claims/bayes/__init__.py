"""Bayesian learning: posteriors, evidence and predictions in closed form and by Laplace's method."""

from . import posteriors, predictions  # noqa: F401
