"""Monomials as explicit features, weighted so that their inner product is a polynomial kernel."""

from functools import lru_cache
from math import comb, factorial, prod

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int


def monomial_count(dim: int, degree: int) -> int:
    """The number C(d + k, k) of monomials of degree at most k in d variables.

    >>> monomial_count(3, 10)
    286
    """
    _check(dim, degree)
    return comb(dim + degree, degree)


def monomial_exponents(dim: int, degree: int) -> Int[np.ndarray, "features d"]:
    """The exponents of all monomials of degree at most k in d variables, in falling lexicographic order.

    >>> monomial_exponents(2, 2).tolist()
    [[2, 0], [1, 1], [1, 0], [0, 2], [0, 1], [0, 0]]
    """
    _check(dim, degree)
    return _exponents(dim + 1, degree)[:, :-1].copy()


def multinomial_weights(
    exponents: Int[np.ndarray, "features d"], degree: int, offset: float = 1.0
) -> Float[np.ndarray, " features"]:
    """√(k!/(∏ jᵢ! (k-|j|)!)) c^((k-|j|)/2) for the monomial x^j: with these, φ(x)·φ(z) = (x·z + c)ᵏ.

    >>> multinomial_weights(np.array([[0, 0], [1, 0], [1, 1], [2, 0]]), 2).round(4).tolist()
    [1.0, 1.4142, 1.4142, 1.0]
    """
    if offset < 0:
        raise ValueError(f"multinomial_weights got offset {offset}; (x·z + c)^k has real features only for c >= 0.")
    left = degree - exponents.sum(axis=1)
    if (left < 0).any() or (exponents < 0).any():
        raise ValueError(f"multinomial_weights got exponents that are negative or add up to more than degree {degree}.")
    counts = [
        factorial(degree) // (prod(factorial(int(j)) for j in row) * factorial(int(rest)))
        for row, rest in zip(exponents, left, strict=True)
    ]
    return np.sqrt(np.array(counts, float)) * float(offset) ** (left / 2)


def monomial_features(
    x: Float[Array | np.ndarray, "n d"], degree: int, *, offset: float = 0.0
) -> Float[Array | np.ndarray, "n features"]:
    """φ with φ(x)·φ(z) = (x·z + c)ᵏ: monomials weighted by `multinomial_weights`.

    With offset c = 0 the C(d + k - 1, k) monomials of degree k alone, with c > 0 all C(d + k, k) of degree at most k.
    NumPy in, NumPy out.

    >>> [round(float(value), 3) for value in monomial_features(jnp.array([[1.0, 2.0]]), 2)[0]]
    [1.0, 2.828, 4.0]
    >>> monomial_features(jnp.array([[1.0, 2.0]]), 2, offset=1.0).shape
    (1, 6)
    """
    _check(x.shape[1], degree)
    exponents = _exponents(x.shape[1], degree) if offset == 0 else monomial_exponents(x.shape[1], degree)
    weights = multinomial_weights(exponents, degree, offset)
    return monomial_values(x, exponents) * weights.astype(x.dtype)


def monomial_values(
    x: Float[Array | np.ndarray, "n d"], exponents: Int[np.ndarray, "features variables"]
) -> Float[Array | np.ndarray, "n features"]:
    """∏ᵢ xᵢ^jᵢ for every row of x and every row j of exponents, without weights; NumPy in, NumPy out.

    >>> monomial_values(np.array([[2.0, 3.0]]), np.array([[0, 0], [2, 1]])).tolist()
    [[1.0, 12.0]]
    """
    xp = np if isinstance(x, np.ndarray) else jnp
    if exponents.shape[1] != x.shape[1]:
        raise ValueError(
            f"monomial_values got {x.shape[1]} variables and exponents of {exponents.shape[1]}; give equal."
        )
    degree = int(exponents.sum(axis=1).max(initial=0))
    if degree == 0:
        return xp.ones((len(x), len(exponents)), x.dtype)
    # Every monomial is a product of `degree` columns of (x, 1), the last column filling up.
    filled = np.column_stack([exponents, degree - exponents.sum(axis=1)])
    columns = np.repeat(np.tile(np.arange(filled.shape[1]), len(filled)), filled.ravel()).reshape(-1, degree)
    with_one = xp.concatenate([x, xp.ones((len(x), 1), x.dtype)], axis=1)
    return xp.prod(with_one[:, columns], axis=-1)


def paraboloid_lift(x: Float[Array | np.ndarray, "n d"]) -> Float[Array | np.ndarray, "n d_plus_1"]:
    """(x, ‖x‖²): hyperplanes there are the spheres and planes of Rᵈ.

    >>> paraboloid_lift(np.array([[3.0, 4.0]])).tolist()
    [[3.0, 4.0, 25.0]]
    """
    xp = np if isinstance(x, np.ndarray) else jnp
    return xp.concatenate([x, xp.sum(x**2, axis=1, keepdims=True)], axis=1)


@lru_cache
def _exponents(dim: int, degree: int) -> Int[np.ndarray, "features d"]:
    """All rows of whole numbers ≥ 0 that add up to the degree, the first one falling."""
    if dim == 1:
        return np.array([[degree]])
    parts = []
    for first in range(degree, -1, -1):
        rest = _exponents(dim - 1, degree - first)
        parts.append(np.column_stack([np.full(len(rest), first), rest]))
    return np.concatenate(parts)


def _check(dim: int, degree: int) -> None:
    if dim < 1 or degree < 0:
        raise ValueError(f"Monomials need at least 1 variable and a degree of 0 or more; got {dim} and {degree}.")
