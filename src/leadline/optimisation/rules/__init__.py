"""Optimisers as gradient transformations: momentum, adaptive, Newton, line searches."""
