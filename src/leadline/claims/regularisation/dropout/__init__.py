"""Dropout."""

MODULES: tuple[str, ...] = ("masks", "linear_dropout", "sub_networks")
