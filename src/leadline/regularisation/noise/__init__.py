"""Noise and virtual examples in training."""
