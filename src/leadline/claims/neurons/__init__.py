"""Threshold units, the perceptron, margins, counting of linear dichotomies, and associative memory.

Importing this package declares its entries, in the order of the curriculum's sections.
"""

# ruff: noqa: F401, I001
from . import units, activation, logic, separability, pdp
from . import threshold_classifier, perceptron, perceptron_variants, perceptron_tasks
from . import margins, mistake_bounds, online_learning
from . import counting, cover
from . import hopfield, hopfield_storage, crosstalk, hopfield_capacity, denoising, dense_memory
from . import agents, coding
