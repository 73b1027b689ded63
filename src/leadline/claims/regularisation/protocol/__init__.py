"""Protocol: splits, cross-validation, fair comparison."""

MODULES = ("leave_one_out",)
