"""Training seen through the tangent kernel: flows, drift, regimes, certificates of convergence."""
