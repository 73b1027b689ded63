"""Random transformations of images, texts and sounds inside training: compiled, keyed, and what they are worth."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
