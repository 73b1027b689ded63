"""Finite sums minimised with corrected stochastic gradients: SAGA, SAG and SVRG, each run one compiled scan."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ..problems.finite_sum import FiniteSum
from ..problems.linear_loss import LinearLoss

Vector = Float[Array, " p"]


class Buffer(NamedTuple):
    """The last gradient Gᵢ seen of every example, and their mean Ḡ.

    `entries` are the gradients (n, p), or, in compact storage, the factors eᵢ of Gᵢ = xᵢ ⊗ eᵢ (n, outputs).
    """

    entries: Float[Array, "n k"]
    mean: Vector


class BufferedRun(NamedTuple):
    """Points w⁰, w^k, w^2k, … of a run with a buffer, the last of them, and the buffer at the end."""

    points: Float[Array, "records+1 p"]
    buffer: Buffer

    @property
    def last(self) -> Vector:
        return self.points[-1]


class SnapshotRun(NamedTuple):
    """The snapshots of an SVRG run, and the component gradients spent until each: n + 2M an epoch."""

    snapshots: Float[Array, "epochs+1 p"]
    evaluations: Int[Array, " epochs+1"]

    @property
    def last(self) -> Vector:
        return self.snapshots[-1]


def stored_gradient(problem: FiniteSum, w: Vector, i: Int[Array, ""], compact: bool) -> Float[Array, " k"]:
    """What a buffer keeps of ∇ℓᵢ(w)."""
    if compact:
        return problem.loss.factor(w, *(a[i] for a in problem.arrays))
    return problem.component_gradient(w, i)


def lifted_gradient(problem: FiniteSum, i: Int[Array, ""], stored: Float[Array, " k"], compact: bool) -> Vector:
    """The gradient that a buffer's entry stands for."""
    return problem.loss.lift(problem.arrays[0][i], stored) if compact else stored


def filled_buffer(problem: FiniteSum, w: Vector, *, compact: bool | None = None) -> Buffer:
    """The buffer of all gradients at w: n component gradients. Compact by default where the loss is a `LinearLoss`.

    >>> from leadline.stochastic.problems.finite_sum import six_points
    >>> filled_buffer(six_points(), jnp.zeros(1)).entries.shape
    (6, 1)
    """
    return _filled(problem, w, _is_compact(problem, compact))


def empty_buffer(problem: FiniteSum, start: Vector, *, compact: bool | None = None) -> Buffer:
    """The buffer of zeros, which costs no gradient."""
    width = problem.loss.outputs if _is_compact(problem, compact) else start.size
    return Buffer(jnp.zeros((problem.samples, width), start.dtype), jnp.zeros_like(start))


def saga(
    problem: FiniteSum,
    start: Vector,
    step_size: float | Float[Array, ""],
    indices: Int[Array, " steps"],
    *,
    weight: float | Float[Array, ""] = 1.0,
    every: int | None = None,
    buffer: Buffer | None = None,
    compact: bool | None = None,
) -> BufferedRun:
    """w ← w − η [λ(gᵢ(w) − Gᵢ) + Ḡ], then Gᵢ ← gᵢ(w), for i along `indices` (Defazio, Bach, Lacoste-Julien, 2014).

    λ = 1 makes the direction unbiased for the full gradient; η = 1/(3 L_max) is safe. Points are kept `every` so many
    steps (by default n: one pass); the buffer starts with the gradients at `start`. Each step costs one component
    gradient. In compact storage the penalty's gradient a w is added exactly instead of being remembered.

    >>> from leadline.stochastic.problems.finite_sum import six_points
    >>> run = saga(six_points(), jnp.zeros(1), 1 / (3 * 1.44), jnp.arange(600) * 5 % 6)
    >>> round(float(run.last[0]), 6)
    0.359184
    """
    compact = _is_compact(problem, compact)
    every = problem.samples if every is None else every
    if indices.size == 0 or indices.size % every:
        raise ValueError(f"{indices.size} steps are not a multiple of every = {every}; give whole records of indices.")
    buffer = filled_buffer(problem, start, compact=compact) if buffer is None else buffer
    if buffer.entries.shape[1] != (problem.loss.outputs if compact else start.size):
        raise ValueError(
            f"The buffer keeps {buffer.entries.shape[1]} numbers for an example, which is not its width in "
            f"{'compact' if compact else 'dense'} storage; make the buffer with the same `compact`."
        )
    rows = jnp.asarray(indices).reshape(-1, every)
    return _buffered(
        problem, start, jnp.asarray(step_size, start.dtype), jnp.asarray(weight, start.dtype), rows, buffer, compact
    )


def sag(
    problem: FiniteSum,
    start: Vector,
    step_size: float | Float[Array, ""],
    indices: Int[Array, " steps"],
    *,
    every: int | None = None,
    buffer: Buffer | None = None,
    compact: bool | None = None,
) -> BufferedRun:
    """The same with λ = 1/n: the direction is the mean of the refreshed buffer (Le Roux, Schmidt, Bach, 2012).

    Biased. η = 1/(16 L_max) is guaranteed, 1/L_max usual.

    >>> from leadline.stochastic.problems.finite_sum import six_points
    >>> run = sag(six_points(), jnp.zeros(1), 1 / 1.44, jnp.arange(600) * 5 % 6)
    >>> round(float(run.last[0]), 6)
    0.359184
    """
    weight = 1 / problem.samples
    return saga(problem, start, step_size, indices, weight=weight, every=every, buffer=buffer, compact=compact)


def svrg(
    problem: FiniteSum,
    start: Vector,
    step_size: float | Float[Array, ""],
    indices: Int[Array, "epochs inner"],
    *,
    following: str = "last",
    key: PRNGKeyArray | None = None,
) -> SnapshotRun:
    """w ← w − η [gᵢ(w) − gᵢ(w_s) + g(w_s)], with a new snapshot w_s after each row of `indices` (Johnson, Zhang, 2013).

    The next snapshot is the last inner iterate, or a random one of those before a step (which needs a `key`), as the
    theorem has it. It needs a finite sum of fixed functions: with dropout or random augmentation gᵢ(w) and gᵢ(w_s)
    see different draws and the correction is no control variate.

    >>> from leadline.stochastic.problems.finite_sum import six_points
    >>> run = svrg(six_points(), jnp.zeros(1), 0.2, jnp.arange(240).reshape(20, 12) * 5 % 6)
    >>> round(float(run.last[0]), 6), run.evaluations[:3].tolist()
    (0.359184, [0, 30, 60])
    """
    epochs, inner = indices.shape
    if following == "random":
        if key is None:
            raise ValueError("A random inner iterate needs a key; give `key=jax.random.key(...)`.")
        chosen = jax.random.randint(key, (epochs,), 0, inner)
    elif following == "last":
        chosen = jnp.full((epochs,), inner)
    else:
        raise ValueError(f"following = {following!r} is not known; give 'last' or 'random'.")
    snapshots = _snapshots(problem, start, jnp.asarray(step_size, start.dtype), jnp.asarray(indices), chosen)
    return SnapshotRun(snapshots, jnp.arange(epochs + 1) * (problem.samples + 2 * inner))


def svrg_factor(step_size: float, smoothness: float, strong_convexity: float, inner: int) -> float:
    """E gap after an epoch ≤ this × gap before: 1/(mη(1 − 2Lη)M) + 2Lη/(1 − 2Lη), L = L_max; says nothing from 1 on.

    >>> round(svrg_factor(0.1, 1.0, 0.1, 1000), 3)
    0.375
    """
    room = 1 - 2 * smoothness * step_size
    if room <= 0:
        return float("inf")
    return 1 / (strong_convexity * step_size * room * inner) + 2 * smoothness * step_size / room


def _is_compact(problem: FiniteSum, wanted: bool | None) -> bool:
    possible = isinstance(problem.loss, LinearLoss)
    if wanted and not possible:
        raise ValueError("Compact storage needs a loss of the form LinearLoss; leave `compact` out for any other.")
    return possible if wanted is None else wanted


@eqx.filter_jit
def _filled(problem: FiniteSum, w: Vector, compact: bool) -> Buffer:
    entries = jax.vmap(lambda i: stored_gradient(problem, w, i, compact))(jnp.arange(problem.samples))
    if compact:
        return Buffer(entries, (problem.arrays[0].T @ entries).ravel() / problem.samples)
    return Buffer(entries, entries.mean(axis=0))


@eqx.filter_jit
def _buffered(
    problem: FiniteSum,
    start: Vector,
    step: Array,
    weight: Array,
    rows: Int[Array, "r k"],
    buffer: Buffer,
    compact: bool,
) -> BufferedRun:
    penalty = problem.loss.penalty if compact else None

    def move(state: tuple, pair: Int[Array, "2"]) -> tuple[tuple, None]:
        w, (entries, mean), old = state
        i, following = pair
        fresh = stored_gradient(problem, w, i, compact)
        change = lifted_gradient(problem, i, fresh - old, compact)
        direction = weight * change + mean
        if compact:
            direction = direction + penalty * w
        # The next entry is read after this one is written: XLA copies a buffer that is read and then written in a step.
        entries = jax.lax.dynamic_update_index_in_dim(entries, fresh, i, 0)
        ahead = jax.lax.dynamic_index_in_dim(entries, following, keepdims=False)
        return (w - step * direction, Buffer(entries, mean + change / problem.samples), ahead), None

    def record(state: tuple, row: Array) -> tuple[tuple, Vector]:
        state, _ = jax.lax.scan(move, state, row)
        return state, state[0]

    flat = rows.ravel()
    pairs = jnp.stack([flat, jnp.roll(flat, -1)], axis=1).reshape(*rows.shape, 2)
    (_, buffer, _), points = jax.lax.scan(record, (start, buffer, buffer.entries[flat[0]]), pairs)
    return BufferedRun(jnp.concatenate([start[None], points]), buffer)


@eqx.filter_jit
def _snapshots(
    problem: FiniteSum, start: Vector, step: Array, rows: Int[Array, "epochs M"], chosen: Int[Array, " epochs"]
) -> Float[Array, "epochs+1 p"]:
    def epoch(snapshot: Vector, what: tuple) -> tuple[Vector, Vector]:
        row, stop = what
        full = problem.gradient(snapshot)

        def move(state: tuple, numbered: tuple) -> tuple[tuple, None]:
            w, kept = state
            t, i = numbered
            kept = jnp.where(t == stop, w, kept)
            change = problem.component_gradient(w, i) - problem.component_gradient(snapshot, i)
            return (w - step * (change + full), kept), None

        (last, kept), _ = jax.lax.scan(move, (snapshot, snapshot), (jnp.arange(row.size), row))
        following = jnp.where(stop == row.size, last, kept)
        return following, following

    _, snapshots = jax.lax.scan(epoch, start, (rows, chosen))
    return jnp.concatenate([start[None], snapshots])
