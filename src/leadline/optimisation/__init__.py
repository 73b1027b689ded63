"""Optimisation: objectives with their constants, methods as Optax rules, runs, and what theory says of them."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
