"""Placeholder: basins."""
