"""Feature maps."""

MODULES = ("feature_maps", "dimension", "image_features")
