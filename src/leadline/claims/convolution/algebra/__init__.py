"""Convolution algebra."""

MODULES = ("functions", "products", "laws", "shifts", "matrices", "algorithms")
