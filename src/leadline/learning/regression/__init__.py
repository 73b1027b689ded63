"""Regression: least squares, ridge, splines, sparsity, quantiles, noise models."""
