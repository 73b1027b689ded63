"""Placeholder: annealing."""
