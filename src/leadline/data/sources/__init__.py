"""Datasets from files, packages and the cache, each verified."""
