"""How well random unit vectors cover the sphere: caps, the law of nearest distances, the size of the largest."""

import numpy as np
from jaxtyping import Float


def unit_rows(rng: np.random.Generator, *shape: int) -> Float[np.ndarray, "..."]:
    """Independent uniform directions: rows of length 1 along the last axis."""
    rows = rng.normal(size=shape)
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def cap_fraction(radius: Float[np.ndarray, "..."] | float, dim: int) -> Float[np.ndarray, "..."]:
    """The share of the unit sphere in ℝᵈ within distance `radius` (a chord, 0 to 2) of a point on it.

    With θ = 2 arcsin(r/2): ½ I(sin²θ; (d−1)/2, ½) up to θ = π/2, one minus that of π − θ beyond. Near 0 it is
    k r^{d−1}, with k the volume of the unit ball in ℝ^{d−1} over the area of the sphere.

    >>> cap_fraction(np.array([0.0, 2**0.5, 2.0]), 3).round(6).tolist(), cap_fraction(1.0, 2).round(6).tolist()
    ([0.0, 0.5, 1.0], 0.333333)
    """
    from scipy.special import betainc

    if dim < 2:
        raise ValueError(f"The sphere in dimension {dim} has no caps; give a dimension of at least 2.")
    half = np.clip(np.asarray(radius, float) / 2, 0.0, 1.0)
    squared_sine = 4 * half**2 * (1 - half**2)  # sin²θ
    small = 0.5 * betainc((dim - 1) / 2, 0.5, squared_sine)
    return np.where(half**2 <= 0.5, small, 1 - small)


def cap_radius(fraction: Float[np.ndarray, "..."] | float, dim: int) -> Float[np.ndarray, "..."]:
    """The inverse of `cap_fraction`.

    >>> cap_radius(0.25, 3).tolist()
    1.0
    """
    from scipy.special import betaincinv

    share = np.asarray(fraction, float)
    squared_sine = betaincinv((dim - 1) / 2, 0.5, 2 * np.minimum(share, 1 - share))
    cosine = np.where(share <= 0.5, 1.0, -1.0) * np.sqrt(1 - squared_sine)
    return np.asarray(np.sqrt(np.where(share <= 0.5, 2 * squared_sine / (1 + np.abs(cosine)), 2 * (1 - cosine))))


def expected_uncovered(radius: Float[np.ndarray, "..."] | float, n: int, dim: int) -> Float[np.ndarray, "..."]:
    """Of n random unit rows the expected number of the second half farther than r from all of the first: exact.

    (n/2)(1 − F(r))^{n/2}, F the cap fraction. By Markov it also bounds the probability that the covering radius is
    larger than r.

    >>> round(float(expected_uncovered(1.0, 8, 3)), 6)
    1.265625
    """
    return np.asarray(n / 2 * (1 - cap_fraction(radius, dim)) ** (n / 2))


def typical_radius(n: int, dim: int, *, expected: float = 1.0) -> float:
    """The radius that `expected` of n/2 rows are expected to exceed: about c_d (ln n/n)^{1/(d−1)}.

    >>> n = 10**6
    >>> round(typical_radius(n, 2) * n / float(np.log(n)), 2), round(covering_constant(2), 2)
    (5.97, 6.28)
    """
    return float(cap_radius(1 - (2 * expected / n) ** (2 / n), dim))


def covering_constant(dim: int) -> float:
    """c_d = (2/k)^{1/(d−1)}: the covering radius of n/2 random rows by n/2 others is about c_d (ln n/n)^{1/(d−1)}.

    >>> [round(covering_constant(d), 3) for d in (2, 3, 4)]
    [6.283, 2.828, 2.112]
    """
    from scipy.special import gamma

    k = gamma(dim / 2) / (2 * np.sqrt(np.pi) * gamma((dim + 1) / 2))
    return float((2 / k) ** (1 / (dim - 1)))
