"""Group convolution."""

MODULES = ("group_signals", "finite_convolutions", "equivariant_networks", "rotations")
