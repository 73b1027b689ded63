"""Counting linear dichotomies."""

MODULES = ("counting", "cover")
