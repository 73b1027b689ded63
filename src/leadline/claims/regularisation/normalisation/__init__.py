"""Normalisation by layer, group, weight and covariance."""

MODULES = ("feature_normalisation", "layer_normalisation", "comparison", "weight_normalisation", "whitening")
