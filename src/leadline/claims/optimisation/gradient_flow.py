"""Placeholder: gradient_flow."""
