"""What the loss does along the null space of its Hessian, where second order says nothing."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float

from leadline.optimisation.objectives.any_loss import evaluate_points

_DIRECTIONS = 32
_TURNS = 8
_CORRECTIONS = 2


class NullSpaceProbe(NamedTuple):
    """The lowest and the highest loss found at distance `radius` along the null space, above l(w); 0 if neither.

    `descent_order` q: the loss falls like −c r^q along `descent_direction` (a unit vector), q = 0 where no descent was
    found. A descent that is found is one; that none is found proves nothing.
    """

    descent: float
    ascent: float
    descent_order: int
    ascent_order: int
    descent_direction: Float[np.ndarray, " p"] | None
    ascent_direction: Float[np.ndarray, " p"] | None
    radius: float


def probe_null_space(
    objective: Callable,
    w: Float[Array | np.ndarray, " p"],
    null: Float[np.ndarray, "p k"],
    values: Float[np.ndarray, " m"],
    vectors: Float[np.ndarray, "p m"],
    *,
    radius: float | None = None,
    directions: int = _DIRECTIONS,
    seed: int = 0,
) -> NullSpaceProbe:
    """Search the sphere of radius r in the null space for descent and ascent of the reduced function.

    The reduced function is l at w + r v + y, with y in the span of the other eigenvectors chosen so that the gradient
    has no part there (Lyapunov and Schmidt): a curved valley is followed, not cut. Directions, both signs of the first
    basis vectors and random ones, are turned along the gradient to make l lower, and once more to make it higher. The
    linear part g·(step) is taken off, so that w need be critical only to rounding. r is ε^{1/8} max(1, ‖w‖/√p).

    >>> import jax.numpy as jnp
    >>> valley = lambda w: (w[1] - w[0] ** 2) ** 2 - w[0] ** 4 / 2  # rises on both axes, falls along w₁ = w₀²
    >>> axis = np.eye(2)
    >>> found = probe_null_space(valley, jnp.zeros(2), axis[:, :1], np.array([2.0]), axis[:, 1:])
    >>> found.descent_order, found.ascent_order
    (4, 0)
    """
    w = np.asarray(w)
    p, k = null.shape
    if k == 0:
        raise ValueError("The null space has dimension 0, so second order decides; there is nothing to probe.")
    if radius is None:
        radius = float(np.finfo(w.dtype).eps ** 0.125 * max(1.0, np.linalg.norm(w) / np.sqrt(p)))
    elif not radius > 0:
        raise ValueError(f"radius = {radius:g} is no distance to probe at; give a positive one.")
    rng = np.random.default_rng(seed)
    signed = np.concatenate([np.eye(k)[: directions // 4], -np.eye(k)[: directions // 4]])
    start = np.concatenate([signed, rng.normal(size=(directions - len(signed), k))])
    start /= np.linalg.norm(start, axis=1, keepdims=True)
    centre, slope = evaluate_points(objective, w[None])
    centre, slope = float(centre[0]), slope[0]
    noise = 64 * float(np.finfo(w.dtype).eps) * abs(centre)
    inverse = vectors / np.where(values == 0, 1.0, values) if len(values) else np.zeros((p, 0))

    def reduced(v: np.ndarray, r: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The excess over l(w), its gradient in the null space, and the steps from w, for rows of v."""
        steps = r * v @ null.T
        for _ in range(_CORRECTIONS if len(values) else 0):
            _, gradients = evaluate_points(objective, (w + steps).astype(w.dtype))
            steps = steps - ((gradients - slope) @ vectors) @ inverse.T
        found, gradients = evaluate_points(objective, (w + steps).astype(w.dtype))
        return found - centre - steps @ slope, (gradients - slope) @ null, steps

    def search(sign: float) -> tuple[float, int, np.ndarray | None]:
        """The least of sign · excess over the sphere."""
        v = start
        excess, gradient, steps = reduced(v, radius)
        for turn in range(_TURNS):
            tangent = sign * (gradient - (gradient * v).sum(1, keepdims=True) * v)
            length = np.linalg.norm(tangent, axis=1, keepdims=True)
            if not length.any():
                break
            angle = 0.5 * 0.75**turn
            turned = np.cos(angle) * v - np.sin(angle) * tangent / np.where(length > 0, length, 1.0)
            turned /= np.linalg.norm(turned, axis=1, keepdims=True)
            tried = reduced(turned, radius)
            better = (sign * tried[0] < sign * excess)[:, None]
            v, gradient, steps = (
                np.where(better, new, old) for new, old in ((turned, v), (tried[1], gradient), (tried[2], steps))
            )
            excess = np.where(better[:, 0], tried[0], excess)
        best = int(np.argmin(sign * excess))
        half, quarter = (float(reduced(v[best : best + 1], radius / s)[0][0]) for s in (2, 4))
        if not (sign * excess[best] < -noise and sign * half < -noise and sign * quarter < 0):
            return 0.0, 0, None
        order = max(3, round(float(np.log2(excess[best] / half))))
        return float(excess[best]), order, steps[best] / np.linalg.norm(steps[best])

    descent, descent_order, down = search(1.0)
    ascent, ascent_order, up = search(-1.0)
    return NullSpaceProbe(descent, ascent, descent_order, ascent_order, down, up, radius)
