"""Regression."""

MODULES = ("least_squares", "model_choice", "selection", "ridge", "quantiles")
