"""All critical points of a function in a box, and what the Hessian says each of them is."""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from leadline.data import generator


class CriticalPoints(NamedTuple):
    """Distinct points with g = 0, by value; `negative` counts the negative eigenvalues of H (the Morse index)."""

    points: Float[np.ndarray, "k p"]
    values: Float[np.ndarray, " k"]
    gradient_norms: Float[np.ndarray, " k"]
    eigenvalues: Float[np.ndarray, "k p"]
    negative: Int[np.ndarray, " k"]
    degenerate: Bool[np.ndarray, " k"]

    @property
    def kinds(self) -> list[str]:
        """minimum, saddle, maximum, or degenerate where an eigenvalue vanishes."""
        p = self.points.shape[1]
        names = ["minimum" if n == 0 else "maximum" if n == p else "saddle" for n in self.negative]
        return ["degenerate" if d else name for d, name in zip(self.degenerate, names, strict=True)]


def find_critical_points(
    function: Callable[[Array], Array],
    low: Float[np.ndarray, " p"],
    high: Float[np.ndarray, " p"],
    *,
    key: PRNGKeyArray,
    starts: int = 200,
    num_steps: int = 60,
    tolerance: float = 1e-8,
) -> CriticalPoints:
    """Newton's method on g = 0 from random starts in the box: it goes to minima, saddles and maxima alike.

    Steps are cut to a tenth of the box. What leaves the box or has ‖g‖ above `tolerance` at the end is dropped; points
    nearer than 1e-5 of the box are one. More starts find more; none is proved to be the last.

    >>> two = np.full(1, 2.0)
    >>> found = find_critical_points(lambda w: jnp.sum(w**3 - 3 * w), -two, two, key=jax.random.key(0))
    >>> found.points.round(6).ravel().tolist(), found.kinds
    ([1.0, -1.0], ['minimum', 'maximum'])
    """
    low, high = np.asarray(low, float), np.asarray(high, float)
    if low.shape != high.shape or not np.all(low < high):
        raise ValueError("find_critical_points needs low < high in every coordinate; correct the box.")
    width = high - low
    w = generator(key).uniform(low, high, (starts, len(low)))
    for _ in range(num_steps):
        _, gradient, hessian = _second_order(function, w)
        step = _newton_steps(gradient, hessian)
        longest = np.max(np.abs(step) / (0.1 * width), axis=1, keepdims=True)
        w = np.clip(w - step / np.maximum(longest, 1.0), low - width, high + width)
    value, gradient, hessian = _second_order(function, w)
    norm = np.linalg.norm(gradient, axis=1)
    keep = (norm < tolerance) & np.all((w >= low) & (w <= high), axis=1)
    order = np.flatnonzero(keep)[np.argsort(value[keep], kind="stable")]
    chosen: list[int] = []
    for i in order:
        if all(np.max(np.abs(w[i] - w[j]) / width) > 1e-5 for j in chosen):
            chosen.append(int(i))
    if not chosen:
        raise ValueError("find_critical_points found no critical point in the box; widen it or give more starts.")
    spectrum = np.linalg.eigvalsh(hessian[chosen])
    flat = np.abs(spectrum) <= 1e-6 * np.maximum(np.abs(spectrum).max(axis=1, keepdims=True), 1e-12)
    negative = np.sum((spectrum < 0) & ~flat, axis=1)
    return CriticalPoints(w[chosen], value[chosen], norm[chosen], spectrum, negative, flat.any(axis=1))


def _newton_steps(gradient: np.ndarray, hessian: np.ndarray) -> np.ndarray:
    """H⁻¹g with eigenvalues kept away from 0, so that a singular Hessian gives a long step, not a crash."""
    values, vectors = np.linalg.eigh(hessian)
    floor = 1e-9 * np.maximum(np.abs(values).max(axis=1, keepdims=True), 1e-9)
    values = np.where(np.abs(values) < floor, np.where(values < 0, -floor, floor), values)
    along = np.einsum("nij,ni->nj", vectors, gradient) / values
    return np.einsum("nij,nj->ni", vectors, along)


def _second_order(function, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    value, gradient, hessian = _derivatives(function, jnp.asarray(w))
    return np.asarray(value), np.asarray(gradient), np.asarray(hessian)


@eqx.filter_jit
def _derivatives(function, points):
    def both(w):
        value, gradient = jax.value_and_grad(function)(w)
        return value, gradient, jax.hessian(function)(w)

    return jax.vmap(both)(points)
