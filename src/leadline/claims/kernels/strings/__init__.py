"""Strings and other objects."""

MODULES = ("strings",)
