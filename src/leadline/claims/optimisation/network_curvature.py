"""Placeholder: network_curvature."""
