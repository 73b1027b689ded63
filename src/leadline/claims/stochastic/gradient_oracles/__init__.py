"""Stochastic problems and gradient oracles."""

MODULES = ("oracles", "sampling_schemes", "descent_runs", "noise_instruments", "noise_spectra", "batches")
