"""Wavelets and the scattering transform of signals and images."""
