"""Shortcuts and pretraining as priors."""

MODULES: tuple[str, ...] = ("shortcuts", "pretext", "contrastive")
