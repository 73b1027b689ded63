"""Placeholder: expected_progress."""
