"""Gated cells."""

MODULES = ("gates", "units", "light_units", "counts", "limits", "gradient_decay", "horizons")
