"""Neurons, layers, backpropagation, symmetries and initialisation.

Importing this package declares its entries, in the order of the curriculum's sections.
"""

# ruff: noqa: F401, I001
from . import units, activations, activation_exchange, activation_health
from . import heads, labels_and_norms, embeddings
from . import layers, architectures, residual, features
from . import backpropagation, automatic_differentiation, derivative_costs, gradients
from . import symmetries, matching
from . import initialisation, norm_growth, signal_propagation, isometry, trainability
