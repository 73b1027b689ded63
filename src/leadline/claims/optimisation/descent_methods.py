"""Placeholder: descent_methods."""
