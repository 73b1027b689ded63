"""Shortcuts and pretraining as priors."""

MODULES: tuple[str, ...] = ()
