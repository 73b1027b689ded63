"""Training: the plain descent, and the loop with validation, checkpoints and a progress bar."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
