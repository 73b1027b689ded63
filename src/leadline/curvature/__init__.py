"""Curvature of a loss at a network: Hessian, Gauss-Newton, Fisher, gradient covariance as operators; what they tell."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(
    __name__,
    submod_attrs={
        "dense_operator": ["DenseOperator", "held_if_small"],
        "example_norms": ["example_gradient_norms"],
        "filter_normalisation": ["filter_norms", "filter_variances", "normalise_filters", "random_filter_directions"],
        "gauss_newton_operators": ["GaussNewton", "fisher", "gauss_newton"],
        "gradient_operators": ["GradientMoments", "empirical_fisher", "gradient_covariance"],
        "hessian_operator": ["HeldHessian", "Hessian", "hessian"],
        "kinks": ["KinkWarning", "count_kinks"],
        "lanczos": ["Eigenpairs", "top"],
        "lanczos_quadrature": ["Quadrature", "spectral_quadrature"],
        "linear_solves": ["LogDeterminant", "Solution", "logdet", "solve"],
        "operator": ["Operator"],
        "operator_difference": ["OperatorDifference"],
        "outlying_eigenvalues": ["count_outliers"],
        "row_curvatures": ["curvatures_by_row"],
        "sharpness_measures": [
            "RiseAlongDirections",
            "ScaledHessian",
            "filter_normalised_rise",
            "filter_normalised_sharpness",
            "top_sharpness",
            "trace_sharpness",
        ],
        "spectral_density": ["SpectralDensity", "density"],
        "symmetric_map": ["SymmetricMap"],
        "trace_estimates": ["DiagonalEstimate", "TraceEstimate", "diagonal", "trace"],
        "worst_case_sharpness": ["WorstCase", "adaptive_sharpness", "ball_sharpness"],
    },
)
