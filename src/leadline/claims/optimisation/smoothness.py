"""Placeholder: smoothness."""
