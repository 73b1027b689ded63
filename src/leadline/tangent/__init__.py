"""Networks of finite width through their parameter gradients: tangent kernels, linearisation, flows, certificates."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
