"""Shannon's chain: compress a source, protect it with a channel code, send it over a noisy channel, and undo both."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
