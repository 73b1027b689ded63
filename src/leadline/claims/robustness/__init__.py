"""Robustness: norms and linear classifiers, attacks, training against them, certificates."""

from . import attack_strength, attacks, certificates, linear_classifiers, robust_training, smallest_changes  # noqa: F401
