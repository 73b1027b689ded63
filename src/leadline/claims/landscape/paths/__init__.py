"""Topology and paths."""

MODULES = ("sublevels", "linear_paths", "connectors", "almost_convex", "coverings", "path_losses", "valleys")
