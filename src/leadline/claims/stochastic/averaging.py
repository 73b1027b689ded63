"""Placeholder: averaging."""
