"""Risk and its decomposition."""

MODULES = ("double_descent",)
