"""Agents that sense, search, decide and learn their way: small closed loops with exact answers beside them."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
