"""The long demonstrations behind `audit`, `stress`, `advise` and `landscape`."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
