"""Gradient descent."""

MODULES = (
    "descent_methods",
    "descent_instruments",
    "edge_of_stability",
    "descent_bounds",
    "stationarity",
    "descent_distances",
    "descent_rates",
    "condition_number_rates",
    "line_search_zigzag",
    "basins",
)
