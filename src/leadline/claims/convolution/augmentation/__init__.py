"""Augmentation: random copies in training, what they keep, what they are worth, what they teach."""

MODULES = ("pipelines", "labels", "jitter", "worth", "learned_invariance", "ranges")
