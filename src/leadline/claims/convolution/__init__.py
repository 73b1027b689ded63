"""Convolution: layer stacks, receptive fields, equivariance."""

from . import layer_stacks, symmetry_audits  # noqa: F401
