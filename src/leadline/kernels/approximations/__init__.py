"""Approximations of kernels: random Fourier features and Nyström."""
