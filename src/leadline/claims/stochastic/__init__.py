"""Stochastic optimisation: oracles, SGD and its rates, averaging, variance reduction, Markov chains, Gibbs laws.

Importing this package declares its entries, in the order of the curriculum's sections.
"""

# ruff: noqa: F401, I001
from . import oracles, noise_instruments, batches, confusion_zone, markov_steps, invariant_laws
from . import expected_progress, constant_steps, decaying_steps, cost_comparison, step_rules, averaging
from . import control_variates, variance_reduction, sign_descent
from . import network_noise
from . import noisy_momentum
from . import finite_chains, chain_theorems, transition_kernels, gibbs, annealing, equilibration
from . import divergences
