"""The variance of an average of correlated predictors, and the correlation that repeated committees show."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float, Real

from leadline._checks import require


class MemberMoments(NamedTuple):
    """Moments of single members over repeated committees, the mean over inputs."""

    variance: float  #: s², of one member
    correlation: float  #: ρ, of two members of one committee
    squares: Float[np.ndarray, " committees"]  #: what each committee says of s²; their mean is the variance
    products: Float[np.ndarray, " committees"]  #: what each says of the covariance ρs²; their mean is that


def committee_variance(
    variance: float | Real[np.ndarray, "..."],
    correlation: float | Real[np.ndarray, "..."],
    members: int | Real[np.ndarray, "..."],
) -> Float[np.ndarray, "..."]:
    """ρs² + (1 − ρ)s²/M, the variance of the mean of M predictors of variance s² and pairwise correlation ρ.

    With ρ = 0 (independent datasets) it falls as 1/M; else it has the floor ρs², and more members do not help.

    >>> committee_variance(4.0, np.array([0.0, 0.5]), 4).tolist()
    [1.0, 2.5]
    """
    s2, rho, m = (np.asarray(value, float) for value in (variance, correlation, members))
    if np.any(s2 < 0) or np.any(m < 1) or np.any(np.abs(rho) > 1):
        raise ValueError(
            f"committee_variance got a variance of {s2.min():g}, correlations from {rho.min():g} to {rho.max():g} and "
            f"{m.min():g} members; give a variance of 0 or more, correlations from −1 to 1, and at least 1 member."
        )
    return np.asarray(rho * s2 + (1 - rho) * s2 / m)


def member_moments(predictions: Float[Array | np.ndarray, "committees members points"]) -> MemberMoments:
    """s² and ρ from committees that were fitted to independent datasets, averaged over the points.

    With the deviations dᵢ from the mean over committees, Σ dᵢ²/M has the mean s² and Σ_{i≠j} dᵢdⱼ/(M(M − 1)) the mean
    ρs²; both are kept for each committee, so that differences to what other members show can be tested.

    >>> same = np.random.default_rng(0).normal(size=(500, 1, 3)) * np.ones((1, 4, 1))
    >>> round(member_moments(same).correlation, 6)
    1.0
    """
    require("member_moments", axes=3, predictions=predictions)
    said = np.asarray(predictions, float)
    committees, members, _ = said.shape
    if committees < 2 or members < 2:
        raise ValueError(
            f"member_moments got {committees} committee(s) of {members} member(s); give at least 2 of at least 2."
        )
    apart = said - said.mean(axis=(0, 1))  # members are alike: one mean for all of them
    squares = (apart**2).mean(axis=(1, 2))
    whole = (apart.mean(axis=1) ** 2).mean(axis=1)
    products = (members * whole - squares) / (members - 1)
    lost = whole.mean() / (committees - 1)  # the variance of the mean that was taken off, which both lack
    squares, products = squares + lost, products + lost
    variance, shared = float(squares.mean()), float(products.mean())
    return MemberMoments(variance, shared / variance if variance > 0 else 0.0, squares, products)
