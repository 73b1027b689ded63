"""The gradient of a recurrence split by lag: which part of it comes from how many steps before the loss."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from .state_vectors import finite_trajectory


class LagParts(NamedTuple):
    """Lag k = 0..T-1 along the first axis of every array.

    `adjoints[k, i]` is the part of dE/dz_{i+1} (i from 0) that loss l_{i+1+k} sends k steps back, 0 where there is no
    such loss; `parameters` the part of dE/dθ that goes through these.
    """

    parameters: PyTree
    adjoints: Float[Array, "lags steps m"]


def gradient_by_lag(
    step: Callable[[PyTree, Any, Any], Any],
    params: PyTree,
    start: Float[Array, " m"],
    inputs: PyTree,
    state_gradients: Float[Array, "steps m"],
    *,
    window: int | None = None,
) -> LagParts:
    """dE/dθ = Σ_t (∂l_t/∂z_t) Σ_{i≤t} (J_t ... J_{i+1}) ∂⁺F_θ(z_{i-1}, x_i)/∂θ, sorted by the lag t - i.

    `step(params, z, x)` is F_θ on vectors, `state_gradients` has ∂l_t/∂z_t for t = 1..T, and ∂⁺ is the immediate
    derivative, with z_{i-1} held fixed. The parts sum to the whole gradient; the first k of them to that of
    backpropagation over k steps from each loss. With a `window`, gradients stop where consecutive windows of so many
    steps meet, as in stateful truncation. Takes T products with all steps: T² steps' time. Pascanu et al. 2013.

    >>> parts = gradient_by_lag(lambda w, z, x: w * z + x, jnp.array(0.5), jnp.zeros(1), jnp.ones((3, 1)),
    ...                         jnp.array([[0.0], [0.0], [1.0]]))
    >>> parts.parameters.tolist(), parts.adjoints[:, :, 0].tolist()
    ([1.5, 0.5, 0.0], [[0.0, 0.0, 1.0], [0.0, 0.5, 0.0], [0.25, 0.0, 0.0]])
    """
    states = finite_trajectory(jax.tree_util.Partial(step, params), start, inputs)
    if state_gradients.shape != states[1:].shape:
        raise ValueError(
            f"gradient_by_lag got state gradients of shape {state_gradients.shape} for states of shape "
            f"{states[1:].shape}; give one row for each step."
        )
    if window is not None and window < 1:
        raise ValueError(f"gradient_by_lag got window={window}; give 1 or more.")
    return _parts(step, params, states[:-1], inputs, state_gradients, window)


@eqx.filter_jit
def _parts(step, params, before, inputs, state_gradients, window) -> LagParts:
    steps = len(before)
    _, pull = jax.vjp(lambda p, z: jax.vmap(lambda z, x: step(p, z, x))(z, inputs), params, before)
    open_behind = jnp.ones(steps, bool) if window is None else jnp.arange(steps) % window != 0

    def one_lag(adjoints: Array, _: None) -> tuple[Array, LagParts]:
        of_params, earlier = pull(adjoints)
        earlier = jnp.where(open_behind[:, None], earlier, 0.0)
        moved = jnp.concatenate([earlier[1:], jnp.zeros_like(earlier[:1])])
        return moved, LagParts(of_params, adjoints)

    return jax.lax.scan(one_lag, state_gradients, None, length=steps)[1]
