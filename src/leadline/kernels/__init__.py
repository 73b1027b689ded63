"""Positive definite kernels: their algebra, Gram matrices, validity, expansions and approximations."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
