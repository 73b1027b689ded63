"""Pooling and invariance."""

MODULES = ("symmetry_audits",)
