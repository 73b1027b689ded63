"""Placeholder: markov_steps."""
