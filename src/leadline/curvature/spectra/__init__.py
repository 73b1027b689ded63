"""Eigenvalues, densities, traces, solves and determinants of symmetric operators."""
