"""Dropout."""

MODULES = ("masks", "linear_dropout", "sub_networks", "rates", "comparisons", "uncertainty", "auditing")
