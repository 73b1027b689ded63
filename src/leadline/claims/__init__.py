"""The curriculum as executable statements, one package per chapter."""

import importlib
from typing import Any

CHAPTERS = (
    "neurons", "networks", "learning", "kernels", "tangent", "optimisation", "stochastic", "landscape",
    "generalisation", "bayes", "robustness", "convolution",
)  # fmt: skip


def load() -> None:
    """Fill the registry with every chapter."""
    for chapter in CHAPTERS:
        importlib.import_module(f"{__name__}.{chapter}")


def check(id: str, /, *, seed: int = 0, **parameters: Any):
    """Run one entry here and return its `Finding`; a notebook shows it with its figures.

    >>> finding = check("margin-sign")
    >>> str(finding.verdict)
    'holds'
    """
    from leadline.evidence import entry, run_entry

    load()
    return run_entry(entry(id), parameters, seed)
