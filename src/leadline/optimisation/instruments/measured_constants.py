"""The constants of any loss, measured: smoothness, strong convexity, PL, condition number, Lipschitz constant."""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from leadline.curvature.spectra.estimate import Estimate

from ..objectives.any_loss import ball_points, evaluate_points, flat_objective
from ..objectives.objective import Objective, Vector
from .hessian_spectra import hessian_at, hessian_spectrum


def measure_smoothness(
    loss: Callable, params: PyTree, *data: PyTree, radius: float = 0.0, probes: int = 0, key: PRNGKeyArray | None = None
) -> Estimate:
    """L, the largest ‖∇²l‖ at `params` and at `probes` points within `radius`; certified where the objective knows it.

    Without a certificate this is a lower bound of the smoothness of the ball. Networks with ReLU have none at all.
    1/L is the step size that it suggests.

    >>> from leadline.optimisation import spread_quadratic
    >>> found = measure_smoothness(spread_quadratic(3, 100.0), jnp.ones(3))
    >>> round(found.value, 6), found.certified
    (100.0, True)
    """
    objective, w = flat_objective(loss, params, *data)
    found = _ends(objective, _around(w, radius, probes, key), "magnitude")
    top, residual = max(found, key=lambda pair: abs(pair[0]))
    seen = abs(top)
    certified = objective.constants().smoothness
    if certified is not None:
        return Estimate(certified, min(seen, certified), certified, True, "formula; below, the largest curvature seen")
    how = f"largest Hessian norm at {len(found)} points, a lower bound of that of the region"
    return Estimate(seen, seen - residual, seen + residual, False, how)


def measure_strong_convexity(
    loss: Callable, params: PyTree, *data: PyTree, radius: float = 0.0, probes: int = 0, key: PRNGKeyArray | None = None
) -> Estimate:
    """m, the least λ_min(∇²l) at `params` and `probes` points within `radius`; certified where the objective knows it.

    Without a certificate this is an upper bound of the strong convexity of the ball; negative: not convex there.

    >>> found = measure_strong_convexity(lambda w: w[0] ** 2 - w[1] ** 2, jnp.ones(2))
    >>> found.value, found.certified
    (-2.0, False)
    """
    objective, w = flat_objective(loss, params, *data)
    found = _ends(objective, _around(w, radius, probes, key), "smallest")
    low, residual = min(found)
    certified = objective.constants().strong_convexity
    if certified is not None:
        high = max(low, certified)
        return Estimate(certified, certified, high, True, "formula; above, the least curvature seen")
    how = f"least Hessian eigenvalue at {len(found)} points, an upper bound of that of the region"
    return Estimate(low, low - residual, low + residual, False, how)


def pl_ratios(
    values: Float[np.ndarray | Array, " k"], gradient_norms: Float[np.ndarray | Array, " k"], minimum: float
) -> Float[np.ndarray, " k"]:
    """μ(w) = ‖∇l(w)‖²/(2 (l(w) − l*)) at each point; not a number where l = l*, 0/0.

    >>> pl_ratios(np.array([0.5, 0.0]), np.array([1.0, 0.0]), 0.0).tolist()
    [1.0, nan]
    """
    gap = np.asarray(values, float) - minimum
    if np.any(gap < 0):
        raise ValueError(
            f"pl_ratios got l* = {minimum:.6g} above a value of {np.min(values):.6g}; give the true minimum."
        )
    return np.asarray(gradient_norms, float) ** 2 / np.where(gap > 0, 2 * gap, np.nan)


def measure_pl(
    loss: Callable,
    params: PyTree,
    *data: PyTree,
    minimum: float | tuple[float, float] | None = None,
    radius: float = 0.0,
    probes: int = 0,
    key: PRNGKeyArray | None = None,
) -> Estimate:
    """μ of the Polyak-Łojasiewicz inequality ½‖∇l‖² ≥ μ (l − l*), the least ratio at `params` and within `radius`.

    `minimum` is l*, or an interval for it, which becomes the error bar of μ: a value too high makes μ too large. An
    objective that is certain of its minimum needs none; a network that can interpolate has 0.

    >>> round(measure_pl(lambda w: 2 * w @ w, jnp.ones(2), minimum=0.0).value, 4)
    4.0
    """
    objective, w = flat_objective(loss, params, *data)
    known = objective.constants()
    minimum = known.minimum if minimum is None else minimum
    if minimum is None:
        raise ValueError(
            "measure_pl needs the least loss; give minimum=0 for a model that can interpolate, or an interval."
        )
    low, high = minimum if isinstance(minimum, tuple) else (minimum, minimum)
    values, gradients = evaluate_points(objective, _around(w, radius, probes, key))
    norms = np.linalg.norm(gradients, axis=1)
    away = values - high > 1e-12 * max(1.0, abs(high))
    if not away.any():
        raise ValueError(
            "measure_pl saw only points with the least loss, where μ is 0/0; give points away from the minimum."
        )
    least, most = (float(np.min(pl_ratios(values[away], norms[away], float(end)))) for end in (low, high))
    if known.pl is not None:
        return Estimate(known.pl, known.pl, max(most, known.pl), True, "formula; above, the least ratio seen")
    how = f"least ratio at {int(away.sum())} points, an upper bound of that of the region"
    return Estimate(most if low == high else least, least, most, False, how)


def measure_condition(loss: Callable, params: PyTree, *data: PyTree, tolerance: float = 1e-6) -> Estimate:
    """κ = λ_max/λ_min of the Hessian at `params`; of the eigenvalues above tolerance λ_max where some are not.

    Up to 2500 parameters from the whole spectrum, above from its ends; if these reach below the tolerance, κ is at most
    1/tolerance and no more is known. `hessian_spectrum` counts the eigenvalues that are left out.

    >>> from leadline.optimisation import spread_quadratic
    >>> round(measure_condition(spread_quadratic(4, 1000.0), jnp.ones(4)).value, 6)
    1000.0
    """
    objective, w = flat_objective(loss, params, *data)
    known = objective.constants()
    if known.smoothness is not None and known.strong_convexity:
        least, greatest = (float(end) for end in hessian_at(objective, w).top(1, which="both").values)
        low = min(known.condition, greatest / max(least, known.strong_convexity))
        return Estimate(known.condition, low, known.condition, True, "formula L/m; below, the ratio at the parameters")
    if w.size <= 2500:
        spectrum = hessian_spectrum(objective, w)
        kappa = spectrum.effective_condition(tolerance)
        left = int(np.sum(spectrum.values <= tolerance * spectrum.values[-1]))
        error = kappa * min(1.0, w.size * np.finfo(w.dtype).eps * kappa)
        how = f"whole spectrum, {left} of {w.size} eigenvalues not above {tolerance:g} of the largest left out"
        return Estimate(kappa, max(1.0, kappa - error), kappa + error, False, how)
    ends = hessian_at(objective, w).top(1, which="both")
    (least, top), (error, top_error) = ends.values.tolist(), ends.residuals.tolist()
    if least - error <= tolerance * top:
        return Estimate(1 / tolerance, 1.0, 1 / tolerance, False, "the least eigenvalue is not above the tolerance")
    return Estimate(
        top / least, (top - top_error) / (least + error), (top + top_error) / (least - error), False, "Lanczos ends"
    )


class LipschitzEstimates(NamedTuple):
    """B = sup |l(w) − l(w′)|/‖w − w′‖ on a ball, from gradients and, independently, from pairs of values."""

    by_gradients: Estimate
    by_pairs: Estimate


@eqx.filter_jit
def _climb(objective: Callable, centre: Vector, starts: Float[Array, "k p"], radius: Array, num_steps: int) -> Array:
    """Ascent of ‖∇l‖ in the ball along its gradient ∇²l ∇l: to the sphere, or by a shrinking step, the better one."""
    gradient_of = jax.grad(objective)

    def into_ball(away: Vector) -> Vector:
        return away * jnp.minimum(1.0, radius / jnp.maximum(jnp.linalg.norm(away), 1e-30))

    def from_one(start: Vector) -> Vector:
        def move(away: Vector, length: Array) -> tuple[Vector, None]:
            uphill = jax.jvp(gradient_of, (centre + away,), (gradient_of(centre + away),))[1]
            uphill = uphill / jnp.maximum(jnp.linalg.norm(uphill), 1e-30)
            tried = jnp.stack([away, into_ball(away + length * uphill), radius * uphill])
            norms = jnp.linalg.norm(jax.vmap(gradient_of)(centre + tried), axis=1)
            return tried[jnp.argmax(norms)], None

        return centre + jax.lax.scan(move, start - centre, radius * jnp.geomspace(0.5, 1e-4, num_steps))[0]

    return jax.lax.map(from_one, starts)


def measure_lipschitz(
    loss: Callable, params: PyTree, *data: PyTree, radius: float, probes: int = 64, climbs: int = 120, key: PRNGKeyArray
) -> LipschitzEstimates:
    """The Lipschitz constant of the loss itself on the ball of `radius` around `params`: sup ‖∇l‖, and by pairs.

    Random points, the best four of which climb `climbs` steps; both are lower bounds. Pairs are short segments inside
    the ball, along the gradient at the points found. The error bar is the spread of the four climbs.

    >>> found = measure_lipschitz(lambda w: w @ w / 2, jnp.zeros(3), radius=2.0, key=jax.random.key(0))
    >>> round(found.by_gradients.value, 3)
    2.0
    """
    if not radius > 0:
        raise ValueError(f"measure_lipschitz got radius {radius}; give a ball with a positive one.")
    objective, w = flat_objective(loss, params, *data)
    points = _around(w, radius, probes, key)
    _, gradients = evaluate_points(objective, points)
    best = np.argsort(np.linalg.norm(gradients, axis=1))[-4:]
    tops = np.asarray(_climb(objective, w, jnp.asarray(points[best]), jnp.asarray(radius, w.dtype), climbs))
    values, gradients = evaluate_points(objective, tops)
    norms = np.linalg.norm(gradients, axis=1)
    unit = gradients / np.maximum(norms, 1e-30)[:, None]
    inward = np.where(np.sum(unit * (tops - np.asarray(w)), axis=1) > 0, -1.0, 1.0)[:, None]
    length = radius * (1e-4 if w.dtype == np.float64 else 1e-2)
    others = tops + inward * length * unit
    # A chord tangent to the ball leaves it by length²/2r at most: pull it back.
    offset = others - np.asarray(w)
    others = (
        np.asarray(w) + offset * np.minimum(1.0, radius / np.maximum(np.linalg.norm(offset, axis=1), 1e-30))[:, None]
    )
    other_values, _ = evaluate_points(objective, others)
    ratios = np.abs(values - other_values) / np.linalg.norm(others - tops, axis=1)
    return LipschitzEstimates(
        _largest(norms, "largest gradient norm found in the ball, a lower bound"),
        _largest(ratios, "largest ratio of a difference of values found in the ball, a lower bound"),
    )


def _largest(found: np.ndarray, how: str) -> Estimate:
    top = float(found.max())
    return Estimate(top, float(found.min()), top + (top - float(found.min())), False, how)


def _around(w: Vector, radius: float, probes: int, key: PRNGKeyArray | None) -> Float[np.ndarray, "k p"]:
    centre = np.asarray(w)[None]
    if probes == 0:
        return centre
    if key is None or not radius > 0:
        raise ValueError(f"{probes} probes need a radius above 0 and a key; pass radius= and key=jax.random.key(seed).")
    return np.concatenate([centre, ball_points(w, radius, probes, key=key)])


def _ends(objective: Objective, points: Float[np.ndarray, "k p"], which: str) -> list[tuple[float, float]]:
    """One extreme eigenvalue of the Hessian at each point, with its residual."""
    found = [hessian_at(objective, point).top(1, which=which) for point in points]
    return [(float(pair.values[0]), float(pair.residuals[0])) for pair in found]
