"""Placeholder: pl."""
