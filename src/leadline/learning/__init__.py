"""Learning from samples: tasks, losses, risks, estimators with exact distributions, splits and error terms."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
