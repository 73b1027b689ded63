"""Dropout."""

MODULES = ("auditing",)
