"""Training seen in function space."""

MODULES = ("function_space", "mode_decay", "stationarity", "kernel_flow", "kernel_flow_limits")
