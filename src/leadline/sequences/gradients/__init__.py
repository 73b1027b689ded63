"""Gradients through time: backpropagation by hand and by lag, truncation, Jacobians of the state and their products."""
