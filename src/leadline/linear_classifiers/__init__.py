"""Linear classifiers: the perceptron and its variants, margins, and counts of linear dichotomies."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
