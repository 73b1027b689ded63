"""Placeholder: control_variates."""
