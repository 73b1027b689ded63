"""Placeholder: edge_of_stability."""
