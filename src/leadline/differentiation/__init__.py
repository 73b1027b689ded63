"""Differentiation of networks by hand and by machine: backpropagation, tapes, modes, gradient checks."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
