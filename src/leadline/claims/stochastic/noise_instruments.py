"""Placeholder: noise_instruments."""
