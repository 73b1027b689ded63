"""Finite Markov chains."""

MODULES = ("finite_chains", "small_chains", "chain_theorems", "long_paths", "divergences")
