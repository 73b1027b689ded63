"""Figures: one declarative type on Altair; a prediction is a line and a measurement is points, everywhere."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
