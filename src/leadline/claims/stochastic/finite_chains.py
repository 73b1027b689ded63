"""Placeholder: finite_chains."""
