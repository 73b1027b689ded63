"""Backpropagation and automatic differentiation."""

MODULES = ("backpropagation", "automatic_differentiation", "derivative_costs", "gradients")
