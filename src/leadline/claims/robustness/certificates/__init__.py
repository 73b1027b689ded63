"""Certificates."""

MODULES = ("certificates",)
