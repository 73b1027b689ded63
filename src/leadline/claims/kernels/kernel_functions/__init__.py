"""Kernels."""

MODULES = ("kernel_library", "gram_matrices", "validity")
