"""A traced function as a program that can be read and run again: its steps, its layers, and the signals in them."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
