"""Layers as maps between covariances of Gaussian processes."""
