"""A trained network a little further: single steps, batches and short runs of plain SGD from where it stands."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

Losses = Callable[..., Float[Array, " n"]]


class SegmentDrop(NamedTuple):
    """Along w − tηg, 0 ≤ t ≤ 1: the drop of the loss at t = 1, and bounds from the slopes of the loss on the way.

    With φ(t) = loss(w − tηg) and s(t) = (φ'(t) − φ'(0))/t the drop lies between −φ'(0) − max s/2 and −φ'(0) − min s/2:
    the descent lemma with the curvature met on this segment. `rounding` is the resolution of the drop.
    """

    drop: float
    lower: float
    upper: float
    rounding: float


class Continuation(NamedTuple):
    """Loss and ‖gradient‖² of the whole sum at some steps of runs of SGD, (runs, looks); ∞ once one diverged."""

    steps: Float[np.ndarray, " looks"]
    losses: Float[np.ndarray, "runs looks"]
    squares: Float[np.ndarray, "runs looks"]


class LossAround(eqx.Module):
    """The mean loss over rows around given parameters; every method compiles once for a network."""

    losses: Losses
    params: PyTree
    arrays: tuple

    def row_losses(self, params: PyTree) -> Float[np.ndarray, " n"]:
        return np.asarray(_rows(self.losses, params, self.arrays), float)

    def loss_and_square(self, params: PyTree) -> tuple[float, float]:
        value, gradient = _value_and_gradient(self.losses, params, self.arrays)
        return float(value), tree_dot(gradient, gradient)

    def gradient(self, params: PyTree) -> PyTree:
        return _value_and_gradient(self.losses, params, self.arrays)[1]

    def moved(self, direction: PyTree, step_size: float) -> PyTree:
        return jax.tree.map(lambda p, g: p - jnp.asarray(step_size, p.dtype) * g, self.params, direction)

    def segment(self, direction: PyTree, step_size: float, nodes: int = 9) -> SegmentDrop:
        """One step along minus the direction, watched at `nodes` points; see `SegmentDrop`."""
        places = np.linspace(0, 1, nodes)
        before = self.row_losses(self.params)
        after = self.row_losses(self.moved(direction, step_size))
        slopes = np.array(
            [-step_size * tree_dot(self.gradient(self.moved(direction, t * step_size)), direction) for t in places]
        )
        secants = (slopes[1:] - slopes[0]) / places[1:]
        eps = float(np.finfo(np.asarray(jax.tree.leaves(self.params)[0]).dtype).eps)
        size = np.abs(before).mean() + np.abs(before).max() / np.sqrt(len(before))
        rounding = 8 * eps * (size + abs(slopes[0]) + np.abs(secants).max())
        return SegmentDrop(
            float((before - after).mean()),
            float(-slopes[0] - secants.max() / 2),
            float(-slopes[0] - secants.min() / 2),
            float(rounding),
        )

    def batch_gradient(self, rows: Any, params: PyTree = None) -> PyTree:
        """The mean gradient of some rows, given by their numbers."""
        return _batch_gradient(self.losses, self.params if params is None else params, self.arrays, jnp.asarray(rows))

    def run(
        self,
        step_size: float,
        batch: int,
        num_steps: int,
        looks: int,
        rng: np.random.Generator,
        rows: tuple | None = None,
    ) -> Continuation:
        """One run of SGD from here, batches drawn with replacement from `rows` (these rows, unless given);
        `looks` times the whole loss of these rows is computed."""
        rows = self.arrays if rows is None else rows
        params, every = self.params, max(1, num_steps // looks)
        seen = [self.loss_and_square(params)]
        count, eta = len(rows[0]), jnp.asarray(step_size)
        for _ in range(looks):
            for _ in range(every):
                params = _step(self.losses, params, rows, jnp.asarray(rng.integers(count, size=batch)), eta)
            seen.append(self.loss_and_square(params))
        losses, squares = np.nan_to_num(np.array(seen).T, nan=np.inf, posinf=np.inf)
        return Continuation(every * np.arange(looks + 1.0), losses[None], squares[None])


def continue_sgd(
    here: LossAround,
    step_size: float,
    batch: int,
    *,
    num_steps: int,
    looks: int,
    runs: int,
    rng: np.random.Generator,
    rows: tuple | None = None,
) -> Continuation:
    """Several independent runs of plain SGD from the same parameters; see `LossAround.run`."""
    parts = [here.run(step_size, batch, num_steps, looks, rng, rows) for _ in range(runs)]
    return Continuation(
        parts[0].steps, *(np.concatenate([getattr(p, f) for p in parts]) for f in ("losses", "squares"))
    )


def tree_dot(a: PyTree, b: PyTree) -> float:
    """The inner product of two pytrees, summed in 64 bits.

    >>> tree_dot({"w": jnp.ones(3)}, {"w": 2 * jnp.ones(3)})
    6.0
    """
    pairs = zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
    return float(sum(np.sum(np.asarray(u, float) * np.asarray(v, float)) for u, v in pairs))


@eqx.filter_jit
def _rows(losses: Losses, params: PyTree, arrays: tuple) -> Array:
    return losses(params, *arrays)


@eqx.filter_jit
def _value_and_gradient(losses: Losses, params: PyTree, arrays: tuple) -> tuple[Array, PyTree]:
    return jax.value_and_grad(lambda p: jnp.mean(losses(p, *arrays)))(params)


@eqx.filter_jit
def _batch_gradient(losses: Losses, params: PyTree, arrays: tuple, rows: Array) -> PyTree:
    return jax.grad(lambda p: jnp.mean(losses(p, *(a[rows] for a in arrays))))(params)


@eqx.filter_jit
def _step(losses: Losses, params: PyTree, arrays: tuple, rows: Array, step: Array) -> PyTree:
    gradient = jax.grad(lambda p: jnp.mean(losses(p, *(a[rows] for a in arrays))))(params)
    return jax.tree.map(lambda p, g: p - step.astype(p.dtype) * g, params, gradient)
