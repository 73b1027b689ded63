"""Convolution: layer stacks, receptive fields, equivariance."""

SECTIONS = ("layers", "invariance", "augmentation")
