"""Stochastic gradient descent on a finite sum: one compiled scan over a stream of indices drawn beforehand."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Num

from ..problems.finite_sum import FiniteSum

_UNROLL = 8


class SGDRun(NamedTuple):
    """The recorded iterates w⁰, w^k, w^2k, …, the last iterate, and the number of component gradients."""

    points: Float[Array, "records p"]
    last: Float[Array, " p"]
    gradients: int


def sgd_run(
    problem: FiniteSum,
    start: Num[Array | np.ndarray, " p"],
    steps: float | Num[Array | np.ndarray, "..."],
    indices: Int[Array | np.ndarray, "steps ..."],
    *,
    every: int = 1,
) -> SGDRun:
    """w^{t+1} = w^t − η_t (1/b) Σ_k g_{i_k}(w^t) (Robbins and Monro 1951).

    `steps` is η or one η a step; `indices` is (T,) for b = 1 or (T, b): see `index_stream` and `draw_indices`. Every
    k-th iterate is recorded, k = `every`, which divides T. It can be mapped over step sizes and over streams:
    jax.vmap(lambda eta: sgd_run(problem, start, eta, indices).points)(etas).

    >>> two = FiniteSum(lambda w, y: (w[0] - y) ** 2 / 2, (jnp.array([1.0, 3.0]),))
    >>> sgd_run(two, jnp.zeros(1), 0.5, np.array([0, 1])).points[:, 0].tolist()
    [0.0, 0.5, 1.75]
    """
    indices = jnp.asarray(indices)
    length = indices.shape[0]
    if indices.ndim not in (1, 2) or every < 1 or length % every:
        raise ValueError(
            f"sgd_run got indices of shape {indices.shape} and every = {every}; give (T,) or (T, b), T its multiple."
        )
    start = jnp.asarray(start, jnp.result_type(float, start))
    schedule = jnp.asarray(steps, start.dtype)
    if schedule.shape not in ((), (length,)):
        raise ValueError(
            f"sgd_run got step sizes of shape {schedule.shape} for {length} steps; give one, or one a step."
        )
    points = _run(problem, start, schedule, indices, every)
    return SGDRun(points, points[-1], indices.size)


def sgd_runs(
    problem: FiniteSum,
    start: Num[Array | np.ndarray, " p"],
    steps: float | Num[Array | np.ndarray, "..."],
    indices: Int[Array | np.ndarray, "..."],
    *,
    every: int = 1,
) -> Float[Array, "runs records p"]:
    """The recorded iterates of independent runs from one start, a run for each row of `indices`: (R, T) or (R, T, b).

    >>> two = FiniteSum(lambda w, y: (w[0] - y) ** 2 / 2, (jnp.array([1.0, 3.0]),))
    >>> sgd_runs(two, jnp.zeros(1), 0.5, np.array([[0, 1], [1, 1]]), every=2)[:, -1, 0].tolist()
    [1.75, 2.25]
    """
    indices = jnp.asarray(indices)
    if indices.ndim not in (2, 3):
        raise ValueError(f"sgd_runs got indices of shape {indices.shape}; give (R, T), or (R, T, b) for batches.")
    return jax.vmap(lambda rows: sgd_run(problem, start, steps, rows, every=every).points)(indices)


@eqx.filter_jit
def _run(problem: FiniteSum, start: Array, schedule: Array, indices: Array, every: int) -> Array:
    single = indices.ndim == 1
    unroll = min(_UNROLL if single else 1, max(len(indices), 1))  # for one cheap gradient the loop itself is the cost

    def move(w: Array, now: tuple[Array, ...]) -> tuple[Array, None]:
        rows, *eta = now
        gradient = problem.component_gradient(w, rows) if single else problem.batch_gradient(w, rows)
        return w - (eta[0] if eta else schedule) * gradient, None

    def record(w: Array, stretch: tuple[Array, ...]) -> tuple[Array, Array]:
        w, _ = jax.lax.scan(move, w, stretch, unroll=min(unroll, every))
        return w, w

    stream = (indices, schedule) if schedule.ndim else (indices,)
    cut = tuple(part.reshape(-1, every, *part.shape[1:]) for part in stream)
    _, points = jax.lax.scan(record, start, cut, unroll=max(1, unroll // every))
    return jnp.concatenate([start[None], points])
