"""Generalisation: test sets, capacity, random labels, PAC-Bayes.

Importing this package declares its entries, in the order of the curriculum's sections.
"""

# ruff: noqa: F401, I001
from . import test_sets, capacity_bounds, network_capacity, random_signs, random_labels
from . import pac_bayes, certified_networks, sloppy_posteriors
