"""Placeholder: preconditioning."""
