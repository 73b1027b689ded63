"""Random features and low rank."""

MODULES = ("random_features", "fourier", "feature_rates", "low_rank", "frozen_limits")
