"""Bayesian learning: posteriors, evidence and predictions in closed form and by Laplace's method."""

SECTIONS = ("posteriors",)
