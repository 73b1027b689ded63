"""Critical points."""

MODULES = ("critical_points", "slices", "saddles", "gibbs_landscapes")
