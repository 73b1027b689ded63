"""Posteriors over weights: closed forms, Laplace approximations, evidence, predictive distributions, calibration."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(
    __name__,
    submod_attrs={
        "calibration_tests": [
            "CalibrationScores",
            "ReliabilityTable",
            "calibrated_scores",
            "calibration_scores",
            "reliability_table",
        ],
        "evidence_estimates": ["ImportanceEvidence", "importance_log_evidence", "laplace_log_evidence"],
        "grid_posteriors": ["GridPosterior", "grid_posterior"],
        "laplace_posteriors": ["LastLayerPosterior", "last_layer_laplace"],
        "last_layers": ["LastLayer", "find_last_layer"],
        "linear_posteriors": [
            "EvidenceMaximiser",
            "linear_energy",
            "linear_log_evidence",
            "maximise_linear_evidence",
            "prior_over_weights",
            "sequential_posteriors",
            "updated_posterior",
        ],
        "posterior_modes": ["PosteriorMode", "map_estimate"],
        "predictive_laws": ["LinearPredictive", "WeightedDraws", "average_draws", "linear_predictive"],
        "regression_heads": ["RegressionHead", "last_layer_regression"],
        "softmax_averages": ["probit_average", "sampled_average"],
        "temperature_scaling": ["Temperature", "fit_temperature", "scaled_log_losses"],
    },
)
