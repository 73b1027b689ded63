"""Symmetry as a constraint: finite groups, their representations, smoothing, and the maps that respect them."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
