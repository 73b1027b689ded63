"""Robustness: norms and linear classifiers, attacks, training against them, certificates.

Importing this package declares its entries, in the order of the curriculum's sections.
"""

# ruff: noqa: F401, I001
from . import linear_classifiers, attacks, smallest_changes, attack_strength, robust_training, certificates
