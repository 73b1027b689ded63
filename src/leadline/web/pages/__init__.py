"""What is shown: pages and fragments as HTML, the same for the explorer and the book."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
