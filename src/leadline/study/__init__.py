"""Studies: a user's own network, loss or optimiser, what theory says of it and what was found.

The package is also the function: `leadline.study(model, train, test)` gives a `Report`.
"""

import sys
import types
from typing import Any

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(
    __name__,
    submodules=["instruments"],
    submod_attrs={
        "followed_advice": ["advice_report"],
        "audits": ["AUDITS", "audit"],
        "card": ["Card"],
        "instrument": ["Instrument", "Meaning", "Part"],
        "named_functions": ["named_function"],
        "report": ["Report", "run_study"],
        "report_page": ["comparison_html"],
        "stress_bench": ["TRIALS", "stress"],
        "subject": ["Past", "Rows", "Subject"],
        "subject_making": ["as_subject"],
        "subject_sources": ["Wish", "built_in", "open_subject"],
        "surroundings": ["Surroundings", "landscape_report"],
    },
)


class _Callable(types.ModuleType):
    def __call__(self, model: Any, train: Any = None, test: Any = None, **options: Any) -> Any:
        from .studying import study

        return study(model, train, test, **options)


sys.modules[__name__].__class__ = _Callable
