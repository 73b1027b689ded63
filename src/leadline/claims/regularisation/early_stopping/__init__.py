"""Early stopping."""

MODULES = ("stopping", "spectral_filters", "signal")
