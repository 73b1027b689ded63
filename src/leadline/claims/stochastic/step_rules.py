"""Placeholder: step_rules."""
