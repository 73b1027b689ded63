"""What is inside a network that is given as a function: its layers, their sizes and costs, the values between them."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
