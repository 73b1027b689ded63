"""Batch normalisation."""

MODULES = ("forward", "gradients", "running_statistics", "rectified_inputs")
