"""Positive definite kernels: their algebra, Gram matrices, validity, expansions and approximations."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(
    __name__,
    submod_attrs={
        "algebra": ["Centred", "Kernel", "Normalised", "Product", "Scaled", "Similarity", "Sum", "diagonal_of"],
        "certificates": ["Hunt"],
        "edit_distance": ["edit_distances", "edit_similarity", "relative_edit_similarity"],
        "fourier": ["FourierFeatures", "draw_fourier_features", "fourier_variance", "spectral_frequencies"],
        "gram_cost": ["GramCost", "MethodPlan", "choose_method", "gram_cost_of", "require_gram"],
        "inner_product": ["Affine", "ArcCosine", "ArcSine", "Linear", "Polynomial"],
        "integral": ["IntegralKernel"],
        "low_rank": [
            "Nystrom",
            "best_rank_errors",
            "greedy_landmarks",
            "leverage_landmarks",
            "nystrom",
            "ridge_leverage",
            "uniform_landmarks",
        ],
        "mercer": [
            "MercerExpansion",
            "brownian_eigenfunctions",
            "brownian_eigenvalues",
            "gram_features",
            "mercer_expansion",
        ],
        "minimum": ["Minimum"],
        "pairs": ["cosines", "distances", "inner_products", "namespace", "squared_distances", "squared_norms"],
        "positivity": [
            "Spectrum",
            "centre_gram",
            "check_positive",
            "least_jitter",
            "nearest_kernel",
            "rounding_of",
            "shifted_kernel",
            "spectrum",
        ],
        "rkhs": [
            "FunctionGeometry",
            "InterpolantNorms",
            "function_geometry",
            "interpolant_norms",
            "rkhs_inner",
            "rkhs_norm",
        ],
        "sharding": ["ShardedGram", "sharded_gram", "square_mesh"],
        "stationary": ["Gaussian", "Laplace", "Matern32", "Matern52", "Stationary"],
        "strings": ["Subsequence"],
        "symbol_codes": ["encode"],
        "tiles": ["GRAM_BUDGET", "LARGEST_TILE", "TilePlan", "gram", "gram_product", "plan_tiles"],
        "validity": ["hunt"],
    },
)
