"""Kernels of activation functions: closed forms, series, and quadrature for any other."""
