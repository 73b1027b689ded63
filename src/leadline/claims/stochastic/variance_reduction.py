"""Placeholder: variance_reduction."""
