"""Loss landscapes: critical points of any loss, slices, sublevel sets, paths between networks, weight averages."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
