"""Classification."""

MODULES = ("logistic", "softmax", "cross_entropy", "label_smoothing", "multi_label")
