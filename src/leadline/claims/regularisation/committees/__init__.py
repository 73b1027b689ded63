"""Committees: bootstrap, bagging, forests, boosting."""

MODULES: tuple[str, ...] = ("bootstraps", "bagging", "variance", "boosting")
