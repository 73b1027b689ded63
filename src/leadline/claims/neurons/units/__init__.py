"""Units."""

MODULES = ("units", "activation", "logic", "separability", "pdp")
