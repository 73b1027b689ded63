"""Model neurons: threshold units, Boolean circuits, spiking membranes, and a simulator that holds them all."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
