"""Tangent kernels, training seen in function space, networks of infinite width, lazy training.

Importing this package declares its entries, in the order of the curriculum's sections.
"""

# ruff: noqa: F401, I001
from . import tangent_kernel, parametrisation
from . import function_space, mode_decay, stationarity, kernel_flow, kernel_flow_limits, linearised, linearised_compared
from . import gaussian_limit, wide_regression, wide_kernels, circle_spectrum, limit_kernel, initial_laws
from . import kernel_motion, lazy, wide_net, ensembles
from . import last_layer, gram_eigenvalues, sandwich, convergence, step_counts, stopping_time
