"""Placeholder: measured_constants."""
