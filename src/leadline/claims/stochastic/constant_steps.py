"""Placeholder: constant_steps."""
