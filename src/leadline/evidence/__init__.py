"""The evidence engine: comparisons, claims, findings, figures, and what runs, keeps and attacks them."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
