"""Perceptrons: the linear threshold classifier, its training rule, its variants and its dual form."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
