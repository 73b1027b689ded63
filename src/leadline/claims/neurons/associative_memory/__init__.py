"""Associative memory."""

MODULES = ("hopfield", "hopfield_storage", "crosstalk", "hopfield_capacity", "denoising", "dense_memory")
