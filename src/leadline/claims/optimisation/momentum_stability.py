"""Placeholder: momentum_stability."""
