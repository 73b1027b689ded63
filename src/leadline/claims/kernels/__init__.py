"""Feature maps, positive definite kernels, kernel machines, random features, strings, and learned features.

Importing this package declares its entries, in the order of the curriculum's sections.
"""

# ruff: noqa: F401, I001
from . import feature_maps, dimension, image_features
from . import kernel_library, gram_matrices, validity
from . import risk_minimisers, expansions, ridge, processes, perceptron
from . import mercer, rkhs, rkhs_functions
from . import random_features, fourier, feature_rates, low_rank, frozen_limits
from . import learned_features, joint_training, strings
