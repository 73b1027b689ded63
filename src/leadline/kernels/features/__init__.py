"""Feature maps: monomials, image features, random features, and what a feature space makes similar."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
