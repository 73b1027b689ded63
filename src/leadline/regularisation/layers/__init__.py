"""Layers with a mode: dropout and normalisations."""
