"""From fixed to learned features."""

MODULES = ("learned_features", "joint_training")
