"""Placeholder: descent_rates."""
