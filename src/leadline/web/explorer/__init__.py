"""The explorer as a server: routes, who may ask what, event streams, reports of studies, starting and stopping."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
