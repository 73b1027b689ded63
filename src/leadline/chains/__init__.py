"""Markov chains: finite chains and their analysis, SGD as a chain on a grid, Gibbs laws, annealing."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
