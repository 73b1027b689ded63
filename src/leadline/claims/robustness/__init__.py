"""Robustness: norms and linear classifiers, attacks, training against them, certificates."""

SECTIONS = ("linear_classifiers", "attacks", "robust_training", "certificates")
