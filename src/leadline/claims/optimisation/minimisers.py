"""Placeholder: minimisers."""
