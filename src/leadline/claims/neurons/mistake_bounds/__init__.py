"""Margins and mistake bounds."""

MODULES = ("margins", "mistake_bounds", "online_learning")
