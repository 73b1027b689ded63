"""Placeholder: objectives_zoo."""
