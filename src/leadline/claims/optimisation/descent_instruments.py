"""Placeholder: descent_instruments."""
