"""Tests run with 64-bit numbers, as claims do, and with every type annotation of the package checked.

What one process has compiled the others take from the same cache as the workers of `leadline check`. The tests compile
much and compute little, so that XLA is told not to optimise for long; the workers, which run the entries, do.
"""

from pathlib import Path

import jax
import pytest

from leadline.data.sources.cache import cache_directory

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_disable_most_optimizations", True)
jax.config.update("jax_compilation_cache_dir", str(cache_directory() / "xla"))
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.05)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)

MUCH_MEMORY = 2 * 2**30  # bytes


@pytest.fixture(autouse=True, scope="module")
def compiled_programs_are_dropped_when_they_fill_the_memory():
    yield
    pages = Path("/proc/self/statm")
    if pages.exists() and int(pages.read_text().split()[1]) * 4096 > MUCH_MEMORY:
        jax.clear_caches()


@pytest.fixture(autouse=True)
def slow_tests_train_afresh(request, monkeypatch):
    """What `training.remembered` keeps may come from an earlier run; a slow test does not trust it."""
    if request.node.get_closest_marker("slow"):
        monkeypatch.setenv("LEADLINE_FRESH", "1")


@pytest.fixture(scope="module")
def optimised_as_for_users():
    """Programs compiled as they are for users: what computes much is several times faster so."""
    jax.config.update("jax_disable_most_optimizations", False)
    jax.clear_caches()
    yield
    jax.config.update("jax_disable_most_optimizations", True)
    jax.clear_caches()


collect_ignore = [
    "documented_json.py",
    "image_samples.py",
    "sample_claims.py",
    "typecheck.py",
]  # imported by tests under these names, not collected
