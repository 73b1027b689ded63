"""Networks: fully connected, residual, densely connected, as graphs, and their output heads."""
