"""Runs that pages ask for: a queue, worker processes that may die, and what followers are told."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
