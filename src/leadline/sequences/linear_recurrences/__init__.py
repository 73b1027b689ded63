"""Recurrences that are linear in the state: four ways to compute them, their modes, and what a state remembers."""
