"""Placeholder: transition_kernels."""
