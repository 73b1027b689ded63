"""Small changes of the input: attacks that find them, certificates that exclude them, training against them."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
