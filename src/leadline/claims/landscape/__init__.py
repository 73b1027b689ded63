"""Loss landscapes: critical points, linear networks, paths and connectedness, Fisher information and sloppiness."""

SECTIONS = ("critical_points", "linear_algebra", "linear_networks", "paths", "fisher_information", "sloppy_models")
