"""Training against attacks."""

MODULES = ("robust_training",)
