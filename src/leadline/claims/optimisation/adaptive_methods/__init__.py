"""Adaptive methods."""

MODULES = ("adaptive_methods", "adam_methods", "adaptive_behaviour", "adam_steps", "adam_variants", "adam_settings")
