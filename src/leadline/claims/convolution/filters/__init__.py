"""Filters and kernels."""

MODULES = ("image_kernels", "separable_kernels", "spaced_windows")
