"""Layers that share weights over positions: sizes, receptive fields, and how far a model respects a symmetry."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
