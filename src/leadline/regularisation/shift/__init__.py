"""Covariate shift: detection and importance weights."""
