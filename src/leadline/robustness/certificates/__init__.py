"""Certificates: interval bounds and Lipschitz constants."""
