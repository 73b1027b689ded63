"""Slices of a loss, its sublevel sets, and coverings."""
