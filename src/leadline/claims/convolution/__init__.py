"""Convolution: its algebra, layers and networks, pooling, groups, scattering, augmentation."""

SECTIONS = ("algebra", "filters", "layers", "invariance", "groups", "scattering", "augmentation")
