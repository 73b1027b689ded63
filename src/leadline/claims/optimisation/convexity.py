"""Placeholder: convexity."""
