"""Geometry: groups, their representations, and functions that respect them."""

SECTIONS = ("groups",)
