"""The explorer, a local server of pages on which every entry can be run, and the book, the same pages as files."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
