"""Norm penalties, weight decay, norm constraints, and everything that filters a spectrum."""
