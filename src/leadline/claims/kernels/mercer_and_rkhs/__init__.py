"""Mercer and reproducing kernel Hilbert spaces."""

MODULES = ("mercer", "rkhs", "rkhs_functions")
