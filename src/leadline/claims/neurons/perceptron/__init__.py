"""The perceptron."""

MODULES = ("threshold_classifier", "perceptron", "perceptron_variants", "perceptron_tasks")
