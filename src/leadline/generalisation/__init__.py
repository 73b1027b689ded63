"""What training error says of new data: bounds with their range and vacuity, PAC-Bayes certificates, random labels."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
