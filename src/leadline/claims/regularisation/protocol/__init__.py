"""Protocol: splits, cross-validation, fair comparison."""

MODULES = ("splits", "leave_one_out", "diagnosis", "selection", "comparisons")
