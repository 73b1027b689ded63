"""Linear networks of two and more layers on data: all critical points, block optima, training in closed form."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
