"""Linear networks of two and more layers on data: all critical points, block optima, training in closed form."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(
    __name__,
    submod_attrs={
        "alternating": ["Alternation", "alternate_factors"],
        "block_optima": ["best_decoder", "best_encoder", "least_squares_map"],
        "critical_atlas": [
            "CriticalFamily",
            "Escape",
            "atlas",
            "atlas_columns",
            "count_families",
            "critical_family",
            "hessian_inertia",
            "nearest_family",
            "sigma_rank",
        ],
        "critical_search": ["CriticalPoint", "refine_critical"],
        "deep_critical": ["DeepFamily", "critical_layers", "deep_atlas", "deep_gradient", "deep_hessian", "deep_loss"],
        "deep_gradients": ["LayerDescent", "compose_layers", "conserved_matrices", "descend_layers", "layer_gradients"],
        "factor_descent": ["FactorDescent", "descend_factors", "gaussian_factors"],
        "linear_problem": ["LinearProblem", "autoencoder_problem", "digits_autoencoder", "random_problem"],
        "minima_paths": [
            "FactorPath",
            "crossing_path",
            "linear_group_path",
            "minima_path",
            "scalar_descent_path",
            "spare_unit_path",
        ],
        "mode_curves": ["deep_mode_strength", "mode_half_time", "mode_strength"],
        "mode_times": ["passage_times"],
        "penalised_factors": ["PenalisedFactors", "PenalisedFamily"],
        "projections": ["oblique_projector", "orthogonal_projector"],
        "whitening": ["Whitening", "whiten"],
    },
)
