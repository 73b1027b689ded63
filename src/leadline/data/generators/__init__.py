"""Synthetic data, drawn with explicit keys."""
