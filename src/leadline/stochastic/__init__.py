"""Stochastic optimisation: finite sums, sampling, exact moments of SGD, noise, averaging, variance reduction."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
