"""Running one entry, in this process."""

import functools
import platform
import time
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Any

from leadline._dependencies import source_digest

from .comparison import Comparison, Inapplicable
from .figure import Figure
from .finding import Finding
from .parameters import resolve
from .registry import Entry

_VERSIONED = ("jax", "numpy", "scipy", "equinox")


def run_entry(
    entry: Entry,
    parameters: Mapping[str, Any] | None = None,
    seed: int = 0,
    *,
    observe: Callable[[Comparison | Figure], None] = lambda _: None,
) -> Finding:
    """Run an entry with 64-bit numbers, whatever the surrounding setting, and collect what it yields.

    `observe` sees each comparison and figure as it comes. Errors of the entry itself are raised.
    """
    import jax

    from .keys import key  # which needs JAX

    values = resolve(entry.parameters, parameters or {})
    comparisons: list[Comparison] = []
    figures: list[Figure] = []
    start = time.perf_counter()
    with jax.enable_x64(True):
        try:
            for item in entry.run(key(seed), **values):
                if isinstance(item, Figure):
                    figures.append(item)
                else:
                    comparisons.append(item)
                observe(item)
        except Inapplicable as unmet:
            comparisons.append(_inapplicable(str(unmet)))
    if not any(not c.erratum for c in comparisons):
        raise RuntimeError(f"{entry.id} compared nothing, so it could not fail; this is a defect of the entry.")
    seconds = round(time.perf_counter() - start, 3)
    return Finding(entry.id, values, seed, tuple(comparisons), tuple(figures), "", seconds, versions(entry.module))


@functools.cache
def versions(*modules: str) -> dict[str, str]:
    """The versions that a finding depends on; `source` is a digest of these modules of leadline and all they import."""
    from leadline import __version__

    own = {"leadline": __version__, "source": source_digest(*modules), "python": platform.python_version()}
    return own | {name: version(name) for name in _VERSIONED}


def _inapplicable(assumption: str) -> Comparison:
    return Comparison("assumption", "met", False, True, -1.0, unmet=assumption)
