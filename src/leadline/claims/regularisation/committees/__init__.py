"""Committees: bootstrap, bagging, forests, boosting."""

MODULES: tuple[str, ...] = ()
