"""Kernels and similarities of strings."""
