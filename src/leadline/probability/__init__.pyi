from .binomial_intervals import binomial_interval as binomial_interval
from .distributions import (
    Binomial as Binomial,
    Exponential as Exponential,
    Normal as Normal,
    Poisson as Poisson,
    bernoulli as bernoulli,
)
from .divergences import density_divergence as density_divergence, divergence as divergence
from .information import (
    differential_entropy as differential_entropy,
    entropy as entropy,
    gaussian_kl as gaussian_kl,
    kl_divergence as kl_divergence,
    kl_from_samples as kl_from_samples,
    nearest_gaussian as nearest_gaussian,
)
from .permutations import permutation_order as permutation_order
from .polynomials import bernstein_polynomial as bernstein_polynomial
from .tail_bounds import hoeffding_bound as hoeffding_bound, markov_bound as markov_bound
