"""Convolutional layers and networks."""

MODULES = ("layer_gradients", "layer_stacks", "published_networks")
