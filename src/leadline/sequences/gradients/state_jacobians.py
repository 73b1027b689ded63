"""Jacobians J_t = ∂z_t/∂z_{t-1} of any recurrence along its trajectory, their products and Lyapunov exponents."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from leadline.networks.signal.lyapunov import log_growth, log_singular_values

from .state_vectors import OnVectors, Step, finite_trajectory, state_vectors


def state_jacobians(step: Step, start: PyTree, inputs: PyTree) -> Float[Array, "steps m m"]:
    """J_t = ∂z_t/∂z_{t-1} for t = 1..T, each m x m; of an Elman network diag(φ'(U z_{t-1} + V x_t)) U.

    dz_T/dz_t is J_T ... J_{t+1}, the latest factor on the left.

    >>> state_jacobians(lambda z, x: 0.5 * z + x, jnp.zeros(1), jnp.ones((3, 1))).ravel().tolist()
    [0.5, 0.5, 0.5]
    """
    on_vectors, _ = state_vectors(step, start)
    states = finite_trajectory(step, start, inputs)
    return _jacobians(on_vectors, states, inputs)


@eqx.filter_jit
def _jacobians(on_vectors: OnVectors, states: Array, inputs: PyTree) -> Float[Array, "steps m m"]:
    return jax.vmap(jax.jacfwd(on_vectors))(states[:-1], inputs)


def jacobian_product_norms(
    step: Step, start: PyTree, inputs: PyTree, lags: Sequence[int] | np.ndarray | None = None
) -> Float[np.ndarray, " lags"]:
    """log ‖dz_T/dz_{T-k}‖₂ for every lag k (all of 0..T unless some are named).

    The rows of the identity go back through the steps as vector-Jacobian products and are divided by their common
    norm after each, so that nothing under- or overflows, whatever the precision. -inf where the product is 0.

    >>> found = jacobian_product_norms(lambda z, x: 1e-3 * z, jnp.ones(4), jnp.ones(50), lags=(1, 50))
    >>> (found / np.log(10)).round(3).tolist()
    [-3.0, -150.0]
    """
    on_vectors, z = state_vectors(step, start)
    states = finite_trajectory(step, start, inputs)
    steps = len(states) - 1
    chosen = np.arange(steps + 1) if lags is None else np.asarray(lags)
    if chosen.min() < 0 or chosen.max() > steps:
        raise ValueError(f"jacobian_product_norms got lags up to {chosen.max()} for {steps} steps; give 0 to {steps}.")

    rows, logs = _products(on_vectors, states, inputs)
    rows = np.concatenate([np.asarray(rows, np.float64), np.eye(z.size)[None]])[::-1][chosen]  # by lag, 0 first
    totals = np.concatenate([[0.0], np.cumsum(np.asarray(logs, np.float64)[::-1])])[chosen]
    with np.errstate(divide="ignore"):
        return totals + np.log(np.linalg.norm(rows, 2, axis=(1, 2)))


@eqx.filter_jit
def _products(on_vectors: OnVectors, states: Array, inputs: PyTree) -> tuple[Array, Array]:
    """By step t: dz_T/dz_{t-1} divided by its norms so far, and the logarithm of the last of these norms."""

    def back(rows: Array, at: tuple) -> tuple[Array, tuple[Array, Array]]:
        state, x = at
        _, pull = jax.vjp(lambda z: on_vectors(z, x), state)
        rows = jax.vmap(lambda row: pull(row)[0])(rows)
        size = jnp.linalg.norm(rows)
        rows = rows / jnp.where(size > 0, size, 1.0)
        return rows, (rows, jnp.log(size))

    eye = jnp.eye(states.shape[1], dtype=states.dtype)
    return jax.lax.scan(back, eye, (states[:-1], inputs), reverse=True)[1]


def jacobian_actions(step: Step, start: PyTree, inputs: PyTree) -> Iterator[Callable[[np.ndarray], np.ndarray]]:
    """For each step the function that multiplies columns by J_t, by forward mode: no Jacobian is formed.

    >>> [act(np.eye(1)).item() for act in jacobian_actions(lambda z, x: 0.5 * z + x, jnp.zeros(1), jnp.ones((2, 1)))]
    [0.5, 0.5]
    """
    on_vectors, _ = state_vectors(step, start)
    states = finite_trajectory(step, start, inputs)

    for t in range(len(states) - 1):
        x = jax.tree.map(lambda leaf, t=t: leaf[t], inputs)
        yield lambda columns, t=t, x=x: np.asarray(_act(on_vectors, states[t], x, jnp.asarray(columns, states.dtype)))


@eqx.filter_jit
def _act(on_vectors: OnVectors, state: Array, x: PyTree, columns: Float[Array, "m count"]) -> Float[Array, "m count"]:
    return jax.vmap(lambda column: jax.jvp(lambda z: on_vectors(z, x), (state,), (column,))[1], 1, 1)(columns)


def lyapunov_exponents(
    step: Step, start: PyTree, inputs: PyTree, *, count: int | None = None, burn_in: int = 0
) -> Float[np.ndarray, " count"]:
    """The `count` largest finite-time Lyapunov exponents of a recurrence under its inputs (all m if not said).

    The mean over steps after `burn_in` of log|R_ii| in J_t Q_{t-1} = Q_t R_t (Benettin et al. 1980). The sum of all m
    is the mean of log|det J_t| exactly; a positive first one says that small changes grow and gradients explode.

    >>> lyapunov_exponents(lambda z, x: jnp.array([2.0, 0.5]) * z, jnp.zeros(2), jnp.zeros(20)).round(4).tolist()
    [0.6931, -0.6931]
    """
    _, z = state_vectors(step, start)
    count = z.size if count is None else count
    steps = len(jax.tree.leaves(inputs)[0])
    if not 1 <= count <= z.size:
        raise ValueError(f"lyapunov_exponents got count={count} for a state of {z.size} numbers; give 1 to that.")
    if not 0 <= burn_in < steps:
        raise ValueError(f"lyapunov_exponents got burn_in={burn_in} for {steps} steps; leave at least one step.")
    return log_growth(jacobian_actions(step, start, inputs), start=_basis(z.size, count))[burn_in:].mean(axis=0)


class ProductSpectrum(NamedTuple):
    """Logarithms of the singular values of dz_T/dz_{T-k}, one row for each lag, and the Lyapunov exponents."""

    lags: np.ndarray
    log_singular_values: Float[np.ndarray, "lags m"]
    exponents: Float[np.ndarray, " m"]


def jacobian_product_spectrum(
    step: Step, start: PyTree, inputs: PyTree, lags: Sequence[int] | np.ndarray
) -> ProductSpectrum:
    """All singular values of dz_T/dz_{T-k} against the lag k, and the finite-time Lyapunov spectrum.

    Singular values that differ by any number of decades keep their digits (`log_singular_values`).

    >>> found = jacobian_product_spectrum(lambda z, x: jnp.array([1.0, 1e-3]) * z, jnp.zeros(2), jnp.zeros(40), (1, 40))
    >>> (found.log_singular_values / np.log(10)).round(3).tolist()
    [[0.0, -3.0], [0.0, -120.0]]
    """
    factors = np.asarray(state_jacobians(step, start, inputs), np.float64)
    chosen = np.asarray(lags)
    if chosen.size == 0 or chosen.min() < 1 or chosen.max() > len(factors):
        raise ValueError(f"jacobian_product_spectrum got lags {list(lags)} for {len(factors)} steps; give 1 to that.")
    values = np.array([log_singular_values(factors[len(factors) - k :]) for k in chosen])
    return ProductSpectrum(chosen, values, log_growth(factors).mean(axis=0))


def _basis(size: int, count: int) -> np.ndarray:
    """Orthonormal columns without a preferred axis: a start along an invariant axis would see its exponent only."""
    if count == size:
        return np.eye(size)
    return np.linalg.qr(np.random.default_rng(0).standard_normal((size, count)))[0]
