"""Neural networks as Equinox modules, and the functions they are made of."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
