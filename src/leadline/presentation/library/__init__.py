"""What the library offers, for people: packages, signatures, documentation and examples, read from an index."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
