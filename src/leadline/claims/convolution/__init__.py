"""Convolution: its algebra, filters, layer stacks, receptive fields, equivariance."""

SECTIONS = ("algebra", "filters", "layers", "invariance")
