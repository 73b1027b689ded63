"""Placeholder: momentum_forms."""
