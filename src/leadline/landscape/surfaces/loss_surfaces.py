"""Two-dimensional slices of a loss: its values over a plane of parameters, and their curvature on the grid."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from leadline.curvature import hessian
from leadline.curvature.spectra.lanczos import Eigenpairs

_AT_ONCE = 8


class LossSurface(NamedTuple):
    """values[i, j] = l(w + a[j] d₁ + b[i] d₂), and the least and greatest Hessian eigenvalue of l at w, if asked for.

    `resolution` is the relative rounding error ε of the values.

    What a slice shows is a Rayleigh quotient: within [λ_min, λ_max], near their mean for random directions. A slice
    that looks convex proves nothing.
    """

    a: Float[np.ndarray, " across"]
    b: Float[np.ndarray, " down"]
    values: Float[np.ndarray, "down across"]
    centre: float
    extremes: Eigenpairs | None
    resolution: float

    def hessians(self) -> Float[np.ndarray, "_ _ 2 2"]:
        """The Hessian of the slice at every inner grid point, by central differences: exact for quadratic losses."""
        f = self.values
        da, db = self.a[1] - self.a[0], self.b[1] - self.b[0]
        aa = (f[1:-1, 2:] - 2 * f[1:-1, 1:-1] + f[1:-1, :-2]) / da**2
        bb = (f[2:, 1:-1] - 2 * f[1:-1, 1:-1] + f[:-2, 1:-1]) / db**2
        ab = (f[2:, 2:] - f[2:, :-2] - f[:-2, 2:] + f[:-2, :-2]) / (4 * da * db)
        return np.stack([np.stack([aa, ab], -1), np.stack([ab, bb], -1)], -2)

    def negative_share(self, tolerance: float = 1e-3) -> float:
        """The share of inner grid points at which the slice has negative curvature.

        Counted are eigenvalues below −tolerance × the other one and beyond what rounding of the values explains.
        """
        spectrum = np.linalg.eigvalsh(self.hessians())
        step = min(self.a[1] - self.a[0], self.b[1] - self.b[0])
        rounding = 16 * self.resolution * np.abs(self.values[1:-1, 1:-1]) / step**2
        threshold = tolerance * np.abs(spectrum).max(axis=-1) + rounding
        return float(np.mean(spectrum[..., 0] < -threshold))


def loss_surface(
    loss: Callable[..., Any],
    params: PyTree,
    first: PyTree,
    second: PyTree,
    *data: PyTree,
    a: tuple[float, float] = (-1.0, 1.0),
    b: tuple[float, float] = (-1.0, 1.0),
    points: int = 25,
    recompute: Callable[..., PyTree] | None = None,
    extremes: bool = False,
) -> LossSurface:
    """loss(params + a first + b second, *data) on a grid of `points` × `points`; directions are pytrees like params.

    Statistics of a normaliser that are stored in the parameters are frozen if the directions do not move them (`frozen`
    in `random_directions`); `recompute(params, *data)` gives parameters with statistics of the data at that point, and
    is then called at every point before the loss. With `extremes` the ends of the full Hessian's spectrum come along,
    by Lanczos iteration: a random slice misses negative curvature. Lines: `optimisation.slice_loss`.

    >>> bowl = lambda w: w[0] ** 2 - w[1] ** 2
    >>> surface = loss_surface(bowl, jnp.zeros(2), jnp.array([1.0, 0.0]), jnp.array([0.0, 1.0]), points=5)
    >>> surface.values[0].tolist(), np.linalg.eigvalsh(surface.hessians())[0, 0].tolist()
    ([0.0, -0.75, -1.0, -0.75, 0.0], [-2.0, 2.0])
    """
    if points < 3:
        raise ValueError(f"loss_surface got {points} points a side; give at least 3.")
    if not (a[0] < a[1] and b[0] < b[1]):
        raise ValueError(f"loss_surface got the ranges a = {a} and b = {b}; give (low, high) with low < high.")
    moved, fixed = eqx.partition(_arrays(params), eqx.is_inexact_array)
    directions = tuple(eqx.filter(_arrays(d), eqx.is_inexact_array) for d in (first, second))
    for direction in directions:
        if jax.tree.structure(direction) != jax.tree.structure(moved) or any(
            x.shape != y.shape for x, y in zip(jax.tree.leaves(direction), jax.tree.leaves(moved), strict=True)
        ):
            raise ValueError("A direction is no pytree like the parameters; give one of their structure and shapes.")
    across, down = np.linspace(*a, points), np.linspace(*b, points)
    grid = np.stack(np.meshgrid(across, down), axis=-1).reshape(-1, 2)
    places = jnp.asarray(np.concatenate([[[0.0, 0.0]], grid]), jnp.result_type(*jax.tree.leaves(moved)))
    rows = tuple(_arrays(d) for d in data)
    values = np.asarray(_surface(loss, moved, fixed, directions[0], directions[1], rows, places, recompute), float)
    ends = None
    if extremes:
        chosen = params if recompute is None else recompute(params, *rows)
        ends = hessian(loss, chosen, *data).top(1, which="both")
    resolution = float(np.finfo(places.dtype).eps)
    return LossSurface(across, down, values[1:].reshape(points, points), float(values[0]), ends, resolution)


def slice_curvatures(
    loss: Callable[..., Any], params: PyTree, directions: list[PyTree], *data: PyTree
) -> Float[np.ndarray, "k k"]:
    """QᵀHQ for an orthonormal basis Q of the span of the directions: what a slice sees of the Hessian H at its centre.

    Its eigenvalues lie in [λ_min(H), λ_max(H)], whatever the directions (Cauchy).

    >>> bowl = lambda w: w[0] ** 2 + 3 * w[1] ** 2 - w[2] ** 2
    >>> slice_curvatures(bowl, jnp.zeros(3), [jnp.array([5.0, 0.0, 0.0]), jnp.array([1.0, 1.0, 0.0])]).round(6).tolist()
    [[2.0, 0.0], [0.0, 6.0]]
    """
    whole = hessian(loss, params, *data)
    basis = np.stack([np.asarray(whole.flat(eqx.filter(d, eqx.is_inexact_array))) for d in directions], axis=1)
    q, r = np.linalg.qr(basis)
    if np.abs(np.diag(r)).min() <= 1e-10 * np.abs(r).max():
        raise ValueError("The directions are linearly dependent; give some that span a plane.")
    seen = np.asarray(whole.products(q.T)) @ q
    return (seen + seen.T) / 2


def _arrays(tree: PyTree) -> PyTree:
    return jax.tree.map(lambda leaf: jnp.asarray(leaf) if isinstance(leaf, np.ndarray) else leaf, tree)


@eqx.filter_jit
def _surface(loss, moved, fixed, first, second, rows, places, recompute) -> Array:
    def at(place: Array) -> Array:
        here = jax.tree.map(lambda w, u, v: w + place[0] * u + place[1] * v, moved, first, second)
        params = eqx.combine(here, fixed)
        return loss(params if recompute is None else recompute(params, *rows), *rows)

    return jax.lax.map(at, places, batch_size=_AT_ONCE)
