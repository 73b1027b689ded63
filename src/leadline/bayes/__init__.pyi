from .calibration_tests import (
    calibrated_scores as calibrated_scores,
    calibration_scores as calibration_scores,
    reliability_table as reliability_table,
)
from .evidence_estimates import (
    importance_log_evidence as importance_log_evidence,
    laplace_log_evidence as laplace_log_evidence,
)
from .grid_posteriors import grid_posterior as grid_posterior
from .laplace_posteriors import last_layer_laplace as last_layer_laplace
from .last_layers import find_last_layer as find_last_layer
from .linear_posteriors import (
    linear_energy as linear_energy,
    linear_log_evidence as linear_log_evidence,
    maximise_linear_evidence as maximise_linear_evidence,
    sequential_posteriors as sequential_posteriors,
)
from .posterior_modes import map_estimate as map_estimate
from .predictive_distributions import average_draws as average_draws, linear_predictive as linear_predictive
from .regression_heads import last_layer_regression as last_layer_regression
from .softmax_averages import probit_average as probit_average, sampled_average as sampled_average
from .temperature_scaling import fit_temperature as fit_temperature
