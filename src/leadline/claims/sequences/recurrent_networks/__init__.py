"""Recurrent networks."""

MODULES = ("cells", "depth", "losses", "unrolled", "initial_states")
