"""Placeholder: momentum_rates."""
