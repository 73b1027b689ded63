"""Placeholder: divergences."""
