"""Networks of infinite width: their Gaussian-process and tangent kernels, and training in closed form."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
