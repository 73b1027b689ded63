"""Regularisation: layers with a mode, penalties and filters, committees, fair evaluation, covariate shift."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
