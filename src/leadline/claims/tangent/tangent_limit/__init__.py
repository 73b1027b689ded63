"""Infinite width: tangent kernel."""

MODULES = ("circle_spectrum", "limit_kernel", "initial_distributions", "kernel_motion", "lazy", "wide_net", "ensembles")
