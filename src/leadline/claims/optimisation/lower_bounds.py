"""Placeholder: lower_bounds."""
