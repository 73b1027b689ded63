"""Real datasets and generators; every generator is a pure function of a key."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
