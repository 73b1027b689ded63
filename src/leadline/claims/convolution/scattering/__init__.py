"""Scattering."""

MODULES = ("deformed_waves", "wavelets", "scattering_networks", "few_samples")
