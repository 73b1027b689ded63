"""Which parameter combinations data determine: Fisher spectra, model manifolds, geodesics, prediction bands."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
