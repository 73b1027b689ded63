"""Derivatives checked against differences."""
