"""Studies: a user's own network, loss or optimiser, what theory says of it and what was found."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(
    __name__,
    submod_attrs={
        "followed_advice": ["advice_report"],
        "audits": ["AUDITS", "audit"],
        "landscape_report": ["Surroundings", "landscape_report"],
        "named_functions": ["named_function"],
        "stress_bench": ["TRIALS", "stress"],
    },
)
