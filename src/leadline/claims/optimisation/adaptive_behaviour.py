"""Placeholder: adaptive_behaviour."""
