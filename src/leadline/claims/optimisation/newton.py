"""Placeholder: newton."""
