"""Stochastic optimisation: oracles, SGD and its rates, averaging, variance reduction, Markov chains, Gibbs laws.

Importing this package declares its entries, in the order of the curriculum's sections.
"""

# ruff: noqa: F401, I001
from . import oracles, sampling_schemes, descent_runs, noise_instruments, noise_spectra, batches
from . import confusion_zone, markov_steps, invariant_laws
from . import expected_progress, descent_lemmas, constant_steps, noise_floors, decaying_steps, cost_comparison
from . import cost_of_data, step_rules, batch_speedups, averaging, averaged_rates
from . import sign_descent, control_variates, variance_reduction, buffer_averages, variance_reduced_rates
from . import network_noise
from . import noisy_momentum
from . import finite_chains, small_chains, chain_theorems, long_paths, transition_kernels
from . import gibbs, gibbs_laws, well_shares, annealing, cooling
from . import equilibration, basin_escape
from . import divergences
