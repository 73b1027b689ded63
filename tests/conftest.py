"""Tests run with 64-bit numbers, as claims do, and with every type annotation of the package checked."""

import jax

jax.config.update("jax_enable_x64", True)

collect_ignore = [
    "documented_json.py",
    "image_samples.py",
    "sample_claims.py",
    "typecheck.py",
]  # imported by tests under these names, not collected
