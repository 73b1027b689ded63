"""Placeholder: invariant_laws."""
