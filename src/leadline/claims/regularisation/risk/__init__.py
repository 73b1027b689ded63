"""Risk and its decomposition."""

MODULES = ("risks", "best_regressors", "bias_and_variance", "averages", "nested_classes", "double_descent")
