"""Growth function and VC dimension."""

MODULES = ("capacity_bounds", "network_capacity", "random_signs")
