"""Linear dichotomies: which labelings of points a hyperplane can realise, and how many there are."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
