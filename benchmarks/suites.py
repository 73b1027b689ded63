"""The suites by name: modules with CASES, or with `measure` where a suite has a way of its own."""

import importlib
from types import ModuleType

SUITES = ("training", "kernels", "curvature", "optimisation", "robustness", "startup", "scaling", "claims")


def suite(name: str) -> ModuleType:
    return importlib.import_module(f"benchmarks.{name}")
