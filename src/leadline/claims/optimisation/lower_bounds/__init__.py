"""Lower bounds."""

MODULES = ("lower_bounds",)
