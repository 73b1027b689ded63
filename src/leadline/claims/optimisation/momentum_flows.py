"""Placeholder: momentum_flows."""
