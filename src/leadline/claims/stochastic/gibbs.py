"""Placeholder: gibbs."""
