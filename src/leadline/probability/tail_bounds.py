"""Inequalities for whole classes of distributions: Jensen, Markov, Hoeffding, and the Poisson limit's error."""

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num

from leadline._checks import require


def jensen_gap(function: Callable[[Array], Array], x: Num[Array | np.ndarray, " n"]) -> Float[Array, ""]:
    """E f(X) - f(E X) under the empirical measure of the sample; not negative for convex f.

    >>> float(jensen_gap(jnp.square, np.array([1.0, 3.0])))  # the variance
    1.0
    """
    x = jnp.asarray(x)
    return jnp.mean(function(x)) - function(jnp.mean(x))


def markov_bound(mean: float, level: Num[Array | np.ndarray, "..."]) -> Float[Array, "..."]:
    """P(X ≥ a) ≤ E X / a for X ≥ 0 and a > 0; it says nothing where a < E X.

    >>> float(markov_bound(1.0, np.array(4.0)))
    0.25
    """
    level = np.asarray(level, float)
    if mean < 0 or level.min() <= 0:
        raise ValueError(
            f"Markov's inequality needs X ≥ 0 and a > 0; got mean {mean:g} and least level {level.min():g}."
        )
    return jnp.asarray(mean / level)


def hoeffding_bound(deviation: Num[Array | np.ndarray, "..."], widths: Num[np.ndarray, " n"]) -> Float[Array, "..."]:
    """P(mean - E mean ≥ t) ≤ exp(-2n²t²/Σ(bᵢ-aᵢ)²) for independent Z_i in [aᵢ, bᵢ] of the given widths.

    Hoeffding 1963.

    >>> round(float(hoeffding_bound(np.array(0.1), np.ones(100))), 4)
    0.1353
    """
    require("hoeffding_bound", deviation=deviation)
    require("hoeffding_bound", axes=1, widths=widths)
    deviation, widths = np.asarray(deviation, float), np.asarray(widths, float)
    if deviation.min() < 0 or widths.min() < 0 or widths.max() == 0:
        raise ValueError("Hoeffding's inequality needs t ≥ 0 and intervals of widths not all 0; check the arguments.")
    return jnp.asarray(np.exp(-2 * len(widths) ** 2 * deviation**2 / np.sum(widths**2)))


def poisson_distance(trials: int, rate: float) -> float:
    """The total variation between Binomial(n, λ/n) and Poisson(λ), by summation; at most λ²/n (Le Cam 1960).

    >>> round(poisson_distance(10, 1.0), 4)
    0.0293
    """
    from scipy.stats import binom, poisson

    if not 0 < rate <= trials:
        raise ValueError(f"poisson_distance needs 0 < rate <= trials; got rate {rate:g} and {trials} trials.")
    k = np.arange(trials + 1)
    law = poisson(rate)
    return float(0.5 * (np.abs(binom.pmf(k, trials, rate / trials) - law.pmf(k)).sum() + law.sf(trials)))
