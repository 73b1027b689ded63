"""Convolution: layer stacks, receptive fields, equivariance, scattering."""

SECTIONS = ("layers", "invariance", "scattering")
