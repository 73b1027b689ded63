"""Curvature from pairs of points: three ratios that lie between m and L, and pairs refined to reach the ends."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, PRNGKeyArray, PyTree

from ..objectives.any_loss import ball_points, evaluate_points, flat_objective
from .hessian_spectra import hessian_at

Numbers = Float[np.ndarray, " pairs"]


class CurvatureRatios(NamedTuple):
    """Over pairs w, w′ = w + d: monotone ⟨Δg, d⟩/‖d‖², bregman 2 D(w′, w)/‖d‖², secant ‖Δg‖/‖d‖.

    On an m-strongly convex, L-smooth function the first two lie in [m, L]; the third is at most L on any L-smooth one.
    """

    monotone: Numbers
    bregman: Numbers
    secant: Numbers


def pair_curvatures(
    objective: Callable, first: Float[np.ndarray, "pairs p"], second: Float[np.ndarray, "pairs p"]
) -> CurvatureRatios:
    """The three ratios of given pairs.

    >>> pair_curvatures(lambda w: w @ w, np.zeros((1, 2)), np.ones((1, 2))).monotone.tolist()
    [2.0]
    """
    values, gradients = evaluate_points(objective, np.concatenate([first, second]))
    n = len(first)
    d = np.asarray(second) - np.asarray(first)
    square = np.sum(d**2, axis=1)
    if not np.all(square > 0):
        raise ValueError("pair_curvatures got a pair of equal points; give pairs of different ones.")
    change = gradients[n:] - gradients[:n]
    bregman = values[n:] - values[:n] - np.sum(gradients[:n] * d, axis=1)
    return CurvatureRatios(
        np.sum(change * d, axis=1) / square, 2 * bregman / square, np.linalg.norm(change, axis=1) / np.sqrt(square)
    )


def curvature_ratios(
    loss: Callable,
    params: PyTree,
    *data: PyTree,
    radius: float,
    pairs: int = 256,
    refine: bool = True,
    key: PRNGKeyArray,
) -> CurvatureRatios:
    """The ratios of random pairs in the ball around `params`; two refined pairs come first if `refine`.

    These lie around the middle of the pair of least and of greatest curvature, drawn half way to the centre, along the
    extreme eigenvectors of the Hessian there: on a quadratic they give m and L exactly. Whatever is
    drawn, min monotone ≥ m and max secant ≤ L.

    >>> import jax, jax.numpy as jnp
    >>> from leadline.optimisation import spread_quadratic
    >>> found = curvature_ratios(spread_quadratic(3, 9.0), jnp.zeros(3), radius=1.0, key=jax.random.key(0))
    >>> round(float(found.monotone.min()), 4), round(float(found.secant.max()), 4)
    (1.0, 9.0)
    """
    if not radius > 0 or pairs < 1:
        raise ValueError(f"curvature_ratios got radius {radius} and {pairs} pairs; both must be positive.")
    objective, w = flat_objective(loss, params, *data)
    ends = ball_points(w, radius, 2 * pairs, key=key)
    first, second = ends[:pairs], ends[pairs:]
    found = pair_curvatures(objective, first, second)
    if not refine:
        return found
    refined = []
    for row, which in ((np.argmin(found.monotone), "smallest"), (np.argmax(found.monotone), "largest")):
        middle = (first[row] + second[row] + 2 * np.asarray(w)) / 4  # half way to the centre: room on both sides
        along = hessian_at(objective, middle).top(1, which=which).vectors[0]
        half = radius / 2 * along
        refined.append((middle - half, middle + half))
    extra = pair_curvatures(objective, *(np.stack(side) for side in zip(*refined, strict=True)))
    return CurvatureRatios(*(np.concatenate(both) for both in zip(extra, found, strict=True)))
