"""Curvature of a loss at a network: Hessian, Gauss-Newton, Fisher, gradient covariance as operators; what they tell."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
