"""Generalisation: test sets, capacity, random labels, PAC-Bayes."""

from . import (  # noqa: F401
    capacity_bounds,
    certified_networks,
    network_capacity,
    pac_bayes,
    random_labels,
    random_signs,
    sloppy_posteriors,
    test_sets,
)
