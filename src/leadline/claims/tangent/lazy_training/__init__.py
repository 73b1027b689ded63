"""Lazy training: proofs as measurements."""

MODULES = ("gram_eigenvalues", "sandwich", "convergence", "step_counts", "stopping_time")
