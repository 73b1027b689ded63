"""Placeholder: cost_comparison."""
