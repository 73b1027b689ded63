"""Placeholder: momentum_choice."""
