"""Placeholder: equilibration."""
