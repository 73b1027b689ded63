"""Gradient flow."""

MODULES = ("gradient_flow",)
