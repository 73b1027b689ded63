"""Placeholder: oracles."""
