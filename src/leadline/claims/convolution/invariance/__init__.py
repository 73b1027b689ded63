"""Pooling and invariance."""

MODULES = ("poolings", "pooled_shifts", "detectors", "symmetry_audits")
