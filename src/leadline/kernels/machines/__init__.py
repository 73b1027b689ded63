"""Learning with kernels: expansions, ridge, logistic and hinge machines, perceptrons, Gaussian processes."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
