"""Optimal recursive estimation."""

MODULES = (
    "state_space",
    "interface",
    "filters",
    "smoothers",
    "recursions",
    "optimality",
    "sufficiency",
    "linear_networks",
)
