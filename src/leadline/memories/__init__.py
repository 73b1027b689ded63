"""Associative memories: Hopfield networks, their storage rules, and their modern descendants."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
