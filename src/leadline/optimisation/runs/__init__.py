"""Runs of a rule on an objective, and the flows they discretise."""
