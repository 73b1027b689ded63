"""How far back a sequence model sees: gradients, influence, recall and accuracy against the lag."""

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num, PRNGKeyArray, PyTree

from ..gradients.state_vectors import OnVectors, overflow_step, state_vectors

Loss = Callable[[Any, Any], Float[Array, ""]]  # of one output and one target


def horizon(
    curve: Float[np.ndarray, " lags"], *, threshold: float = 0.5, lags: Sequence[int] | np.ndarray | None = None
) -> int:
    """The largest lag k ≥ 1 at which a curve is at least `threshold` times its value at lag 1; 0 if that is none.

    Lags are 0, 1, 2, ... unless they are given. Of a curve w^k this is 1 + floor(log threshold / log w).

    >>> horizon(0.9 ** np.arange(50))
    7
    """
    curve = np.asarray(curve, np.float64)
    lags = np.arange(len(curve)) if lags is None else np.asarray(lags)
    if curve.shape != lags.shape or not np.any(lags == 1):
        raise ValueError(f"horizon got {curve.size} values for the lags {lags.tolist()}; lag 1 must be among them.")
    first = curve[lags == 1][0]
    above = (lags >= 1) & (curve >= threshold * first) & (first > 0)
    return int(lags[above].max()) if above.any() else 0


def gradient_transport(
    model: Any, inputs: Num[Array | np.ndarray, "n T ..."], targets: Num[Array | np.ndarray, "n ..."], loss: Loss
) -> Float[np.ndarray, "n lags"]:
    """log ‖∂l_T/∂z_{T-k}‖ for k = 0..T of each row: how much of the loss at the end reaches the state k steps before.

    `model` has `init()`, `update(state, x)` and `predict(state)`, as every cell and `SequenceNetwork` here; the loss is
    that of its last prediction. The adjoint is divided by its norm after every step, so that nothing underflows.

    >>> from leadline.sequences import Elman
    >>> cell = Elman(1, 1, "identity", key=jax.random.key(0))
    >>> cell = eqx.tree_at(lambda c: c.recurrent_weight, cell, jnp.array([[0.5]]))
    >>> found = gradient_transport(cell, jnp.ones((1, 4, 1)), jnp.zeros((1, 1)), lambda y, t: jnp.sum(y - t))
    >>> np.exp(found).round(4).tolist()
    [[1.0, 0.5, 0.25, 0.125, 0.0625]]
    """
    on_vectors, _ = state_vectors(model.update, model.init())
    logs, states = _transport(model, on_vectors, jnp.asarray(inputs), jnp.asarray(targets), loss)
    refuse_overflow(states)
    return np.cumsum(np.asarray(logs, np.float64), axis=1)


@eqx.filter_jit
def _transport(model: Any, on_vectors: OnVectors, inputs: Array, targets: Array, loss: Loss) -> tuple[Array, Array]:
    """By row: the logarithms of the norm at the end and of its changes from step to step back, and the states."""

    def move(z: Array, x: Any) -> tuple[Array, Array]:
        moved = on_vectors(z, x)
        return moved, moved

    def back(adjoint: Array, at: tuple) -> tuple[Array, Array]:
        z, x = at
        (earlier,) = jax.vjp(lambda z: on_vectors(z, x), z)[1](adjoint)
        return _unit(earlier)

    def row(x: Array, target: Array) -> tuple[Array, Array]:
        last, after = jax.lax.scan(move, on_vectors.vector, x)
        before = jnp.concatenate([on_vectors.vector[None], after[:-1]])
        adjoint, first = _unit(jax.grad(lambda z: loss(model.predict(on_vectors.state(z)), target))(last))
        _, rest = jax.lax.scan(back, adjoint, (before, x), reverse=True)
        return jnp.concatenate([first[None], rest[::-1]]), after

    return jax.vmap(row)(inputs, targets)


def _unit(vector: Array) -> tuple[Array, Array]:
    size = jnp.linalg.norm(vector)
    return vector / jnp.where(size > 0, size, 1.0), jnp.log(size)


def influence(
    apply: Callable[[PyTree, Array], Array], params: PyTree, inputs: Num[Array | np.ndarray, "n T ..."]
) -> Float[np.ndarray, "n T"]:
    """‖∂ŷ_T/∂x_{T-k}‖ (Frobenius) for k = 0..T-1 of each row, for any network apply(params, inputs).

    Outputs are (n, q), or (n, T, q) of which the last position is taken. q backward passes.

    >>> def shown(w, x):  # y_T = Σ_k w^k x_{T-k}
    ...     return jnp.sum(w ** jnp.arange(x.shape[1])[::-1] * x, axis=1, keepdims=True)
    >>> influence(shown, jnp.array(0.5), jnp.ones((1, 4))).round(4).tolist()
    [[1.0, 0.5, 0.25, 0.125]]
    """
    inputs = jnp.asarray(inputs)
    if not jnp.issubdtype(inputs.dtype, jnp.floating):
        raise ValueError(
            f"influence got inputs of type {inputs.dtype}, by which nothing can be differentiated; use "
            "replaced_influence."
        )
    return np.asarray(_influence(apply, params, inputs), np.float64)


@eqx.filter_jit
def _influence(apply: Callable, params: PyTree, inputs: Array) -> Array:
    def of_row(x: Array) -> Array:
        jacobian = jax.jacrev(lambda x: last_output(apply(params, x[None]))[0])(x)  # (q, T, ...)
        squares = jnp.moveaxis(jacobian**2, 1, 0).reshape(len(x), -1)
        return jnp.sqrt(squares.sum(axis=1))[::-1]

    return jax.lax.map(of_row, inputs)


def replaced_influence(
    apply: Callable[[PyTree, Array], Array],
    params: PyTree,
    inputs: Num[Array | np.ndarray, "n T ..."],
    lags: Sequence[int] | np.ndarray,
) -> Float[np.ndarray, "n lags"]:
    """‖ŷ_T(x) - ŷ_T(x′)‖ where x′ has at T-k what the next row has there: influence without derivatives, for tokens.

    >>> def shown(w, x):
    ...     return jnp.sum(w ** jnp.arange(x.shape[1])[::-1] * x, axis=1, keepdims=True)
    >>> replaced_influence(shown, jnp.array(0.5), np.array([[0, 0, 0], [1, 1, 1]]), (0, 1, 2)).round(3).tolist()
    [[1.0, 0.5, 0.25], [1.0, 0.5, 0.25]]
    """
    inputs = jnp.asarray(inputs)
    others = jnp.roll(inputs, -1, axis=0)
    steps = inputs.shape[1]
    outputs = eqx.filter_jit(lambda params, x: last_output(apply(params, x)))
    plain = np.asarray(outputs(params, inputs), np.float64)
    columns = []
    for lag in lags:
        moved = inputs.at[:, steps - 1 - lag].set(others[:, steps - 1 - lag])
        columns.append(np.linalg.norm(np.asarray(outputs(params, moved), np.float64) - plain, axis=-1))
    return np.stack(columns, axis=1)


def recall_correlation(
    features: Float[Array | np.ndarray, "n m"],
    inputs: Float[Array | np.ndarray, "n T"],
    lags: Sequence[int] | np.ndarray,
) -> Float[np.ndarray, " lags"]:
    """The multiple correlation of the cue x_{T-k} with features of the last state: √R² of the best linear read-out.

    Its square against k is the memory function of Jaeger 2001, whose sum is the short-term memory capacity. Fitted on
    the rows that are given: take many more of them than features.

    >>> x = np.random.default_rng(0).normal(size=(500, 6))
    >>> recall_correlation(x[:, 3:4], x, (2, 0)).round(1).tolist()  # the feature is x at lag 2
    [1.0, 0.0]
    """
    features, inputs = np.asarray(features, np.float64), np.asarray(inputs, np.float64)
    if len(features) <= features.shape[1] + 1:
        raise ValueError(
            f"recall_correlation got {len(features)} rows for {features.shape[1]} features; give many more rows."
        )
    features = features - features.mean(axis=0)
    basis, sizes, _ = np.linalg.svd(features, full_matrices=False)
    basis = basis[:, sizes > 1e-12 * max(sizes[0], np.finfo(float).tiny)]
    cues = np.stack([inputs[:, inputs.shape[1] - 1 - lag] for lag in lags], axis=1)
    cues = cues - cues.mean(axis=0)
    return np.linalg.norm(basis.T @ cues, axis=0) / np.linalg.norm(cues, axis=0)


def context_accuracy(
    apply: Callable[[PyTree, Array], Array],
    params: PyTree,
    inputs: Num[Array | np.ndarray, "n T ..."],
    labels: Num[Array | np.ndarray, " n"],
    lengths: Sequence[int] | np.ndarray,
    *,
    key: PRNGKeyArray,
) -> Float[np.ndarray, " lengths"]:
    """Accuracy of the last output when only the last k steps of a row are its own, for each k of `lengths`.

    What comes before is that of another row, drawn at random: the network sees inputs of the usual kind that say
    nothing. At k = T it is the plain accuracy; where it stops rising, the network uses no more.

    >>> def last_sign(w, x):
    ...     return jnp.stack([-w * x[:, -1], w * x[:, -1]], axis=1)
    >>> x = jax.random.rademacher(jax.random.key(0), (100, 5), float)
    >>> labels = (x[:, -1] > 0).astype(int)
    >>> context_accuracy(last_sign, jnp.array(1.0), x, labels, (1, 5), key=jax.random.key(1)).tolist()
    [1.0, 1.0]
    """
    inputs, labels = jnp.asarray(inputs), np.asarray(labels)
    steps = inputs.shape[1]
    others = inputs[jax.random.permutation(key, len(inputs))]
    outputs = eqx.filter_jit(lambda params, x: last_output(apply(params, x)))
    found = []
    for own in lengths:
        mixed = jnp.concatenate([others[:, : steps - own], inputs[:, steps - own :]], axis=1)
        found.append(float(np.mean(np.asarray(outputs(params, mixed)).argmax(axis=-1) == labels)))
    return np.array(found)


def last_output(outputs: Float[Array, "n ..."]) -> Float[Array, "n q"]:
    """(n, q) as it is, the last position of (n, T, q)."""
    return outputs.reshape(len(outputs), -1, outputs.shape[-1])[:, -1]


def refuse_overflow(states: Float[Array, "n steps m"]) -> None:
    """Say at which step a recurrence leaves the range of its numbers, if it does."""
    lost = overflow_step(states)
    if lost is not None:
        raise ValueError(
            f"The state is no longer finite from step {lost + 1} of {states.shape[-2]} on; shorten the sequences, or "
            "scale the recurrent weights down."
        )
