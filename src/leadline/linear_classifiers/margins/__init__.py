"""Margins: how widely a classifier separates data, the widest it could, and what that promises."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
