"""Polyak-Lojasiewicz condition."""

MODULES = ("pl",)
