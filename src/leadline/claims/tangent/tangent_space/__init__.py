"""The tangent space of a network."""

MODULES = ("tangent_kernel", "parametrisation", "last_layer")
