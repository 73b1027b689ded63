"""Pooling and invariance."""

MODULES = ("poolings", "pooled_shifts", "detectors", "trained_invariance", "symmetry_audits")
