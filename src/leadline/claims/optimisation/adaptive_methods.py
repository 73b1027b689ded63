"""Placeholder: adaptive_methods."""
