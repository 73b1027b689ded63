"""Training runs described by a file: data, model, optimiser and where the results go."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
