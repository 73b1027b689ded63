"""Neurons, layers, backpropagation, symmetries and initialisation."""

SECTIONS = ("activations", "heads", "architectures", "backpropagation", "symmetries", "signal_propagation")
