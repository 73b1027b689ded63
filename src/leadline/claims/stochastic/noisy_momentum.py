"""Placeholder: noisy_momentum."""
