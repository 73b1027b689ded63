"""Placeholder: convexity_orders."""
