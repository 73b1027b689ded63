"""Optimal recursive estimation: linear-Gaussian models, the Kalman filter and smoother, likelihoods, steady states."""
