"""Studies: a user's own network, what theory says of it and what was found; `leadline.study` makes one."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
