"""Convolutional layers and networks."""

MODULES = ("layer_stacks",)
