"""Moment generating functions M(t) = E exp(t·X) and the moments in their derivatives at 0."""

from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num


def gaussian_mgf(t: Num[Array, " d"], mean: Num[Array, " d"], covariance: Num[Array, "d d"]) -> Float[Array, ""]:
    """exp(t·μ + tᵀSt/2), for X ~ N(μ, S).

    >>> round(float(gaussian_mgf(jnp.ones(1), jnp.zeros(1), jnp.ones((1, 1)))), 5)  # √e
    1.64872
    """
    return jnp.exp(t @ mean + 0.5 * t @ covariance @ t)


def exponential_mgf(t: Num[Array, " 1"], rate: float | Float[Array, ""]) -> Float[Array, ""]:
    """λ/(λ - t), for t < λ.

    >>> float(exponential_mgf(jnp.array([1.0]), 2.0))
    2.0
    """
    return rate / (rate - t[0])


def moment_from_mgf(mgf: Callable[[Array], Array], orders: Sequence[int]) -> float:
    """E Π X_i^{k_i}: the mixed derivative of M at 0 of orders k_i, by nested forward differentiation.

    >>> round(moment_from_mgf(lambda t: exponential_mgf(t, 2.0), [3]), 6)  # 3!/2³
    0.75
    """
    if not orders or min(orders) < 0:
        raise ValueError(f"moment_from_mgf got orders {list(orders)}; give one order ≥ 0 for each coordinate.")
    function, dimension = mgf, len(orders)
    for coordinate, order in enumerate(orders):
        direction = jnp.zeros(dimension).at[coordinate].set(1.0)
        for _ in range(order):
            function = _along(function, direction)
    return float(jax.jit(function)(jnp.zeros(dimension)))


def moment_by_differences(mgf: Callable[[Array], Array], order: int, step_size: float) -> float:
    """The derivative of M at 0 of one order by central differences: loses about log₁₀(1/step) digits an order.

    >>> round(moment_by_differences(lambda t: exponential_mgf(t, 2.0), 1, 1e-3), 4)
    0.5
    """
    from scipy.special import binom

    k = np.arange(order + 1)
    values = np.array([float(mgf(jnp.array([(order / 2 - i) * step_size]))) for i in k])
    return float(np.sum((-1.0) ** k * binom(order, k) * values) / step_size**order)


def gaussian_moment(orders: Sequence[int], mean: Num[np.ndarray, " d"], covariance: Num[np.ndarray, "d d"]) -> float:
    """E Π X_i^{k_i} for X ~ N(μ, S), by Stein's recursion E X_i f = μ_i E f + Σ_j S_ij E ∂_j f (Isserlis 1918).

    >>> gaussian_moment([4], np.zeros(1), np.ones((1, 1)))
    3.0
    """
    orders = tuple(orders)
    first = next((i for i, k in enumerate(orders) if k), None)
    if first is None:
        return 1.0
    rest = [k - (i == first) for i, k in enumerate(orders)]
    total = float(mean[first]) * gaussian_moment(rest, mean, covariance)
    for j, k in enumerate(rest):
        if k:
            lower = [n - (i == j) for i, n in enumerate(rest)]
            total += float(covariance[first, j]) * k * gaussian_moment(lower, mean, covariance)
    return total


def _along(function: Callable[[Array], Array], direction: Float[Array, " d"]) -> Callable[[Array], Array]:
    return lambda t: jax.jvp(function, (t,), (direction,))[1]
