"""The suites by name: modules with CASES, or with `measure` and REASONS where a suite has a way of its own."""

import importlib
from types import ModuleType

SUITES = (
    "training",
    "convolution",
    "kernels",
    "curvature",
    "optimisation",
    "robustness",
    "regularisation",
    "scattering",
    "filtering",
    "recurrent",
    "startup",
    "scaling",
    "claims",
)


def suite(name: str) -> ModuleType:
    return importlib.import_module(f"benchmarks.{name}")


def reasons() -> dict[str, dict[str, str]]:
    """Every suite's cases, each with what is said to bound it."""
    return {name: _reasons(suite(name)) for name in SUITES}


def _reasons(module: ModuleType) -> dict[str, str]:
    return {case.name: case.reason for case in module.CASES} if hasattr(module, "CASES") else module.REASONS
