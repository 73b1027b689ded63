"""The explorer as a server: routes, who may ask what, event streams, reports of studies, starting and stopping."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(
    __name__,
    submod_attrs={
        "app": ["create_app"],
        "guard": ["Hosts"],
        "server": ["serve"],
        "studies": ["Shelf"],
    },
)
