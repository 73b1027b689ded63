"""Placeholder: descent_bounds."""
