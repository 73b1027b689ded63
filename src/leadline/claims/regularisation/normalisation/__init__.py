"""Normalisation by layer, group, weight and covariance."""

MODULES = ("feature_normalisation", "layer_normalisation", "weight_normalisation", "whitening")
