"""Placeholder: network_noise."""
