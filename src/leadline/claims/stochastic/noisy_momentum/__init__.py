"""Momentum and compression under noise."""

MODULES = ("sign_descent", "network_noise", "noisy_momentum")
