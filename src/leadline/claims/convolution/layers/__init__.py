"""Convolutional layers and networks."""

MODULES = (
    "layer_gradients",
    "layer_stacks",
    "random_layers",
    "published_networks",
    "image_classifiers",
    "segmentation",
)
