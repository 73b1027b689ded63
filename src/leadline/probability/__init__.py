"""The probability and analysis toolbox: laws, divergences, inequalities, generating functions."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(
    __name__,
    submod_attrs={
        "distributions": ["Binomial", "Exponential", "Normal", "Poisson", "bernoulli"],
        "divergences": ["density_divergence", "divergence", "divergence_terms"],
        "information": [
            "KlEstimate", "NearestGaussian", "differential_entropy", "entropy", "gaussian_kl", "kl_divergence",
            "kl_from_samples", "kl_to_standard", "nearest_gaussian",
        ],
        "moments": ["exponential_mgf", "gaussian_mgf", "gaussian_moment", "moment_by_differences", "moment_from_mgf"],
        "permutations": ["permutation_fault", "permutation_order"],
        "polynomials": ["bernstein_polynomial", "chebyshev_interpolant", "equispaced_interpolant", "largest_error"],
        "tail_bounds": ["hoeffding_bound", "jensen_gap", "markov_bound", "poisson_distance"],
    },
)  # fmt: skip
