"""Placeholder: decaying_steps."""
