"""Infinite width: Gaussian process."""

MODULES = ("gaussian_limit", "wide_regression", "wide_kernels")
