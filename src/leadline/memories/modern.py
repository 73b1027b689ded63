"""Modern Hopfield networks: continuous states, and an update that is softmax attention over the stored patterns."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float, Int

Patterns = Float[Array | np.ndarray, "n d"]
States = Float[Array | np.ndarray, "b d"]
Scale = float | Float[Array, ""]


def modern_weights(patterns: Patterns, states: States, *, beta: Scale) -> Float[Array, "b n"]:
    """softmax(β X ξ) over the patterns (rows of X): how much of each stored pattern the next state is made of.

    >>> modern_weights(jnp.eye(2), jnp.eye(2)[:1], beta=jnp.log(3.0)).round(2).tolist()
    [[0.75, 0.25]]
    """
    if not isinstance(beta, Tracer) and beta < 0:
        raise ValueError(f"The inverse temperature beta must not be negative, and is {beta}.")
    return jax.nn.softmax(beta * (jnp.asarray(states) @ jnp.asarray(patterns).T), axis=-1)


def modern_update(patterns: Patterns, states: States, *, beta: Scale) -> Float[Array, "b d"]:
    """ξ ← Xᵀ softmax(β X ξ), the patterns being the rows of X: never raises `modern_energy` (Ramsauer et al. 2021).

    β = 0 gives the mean of all patterns, β → ∞ the pattern with the largest inner product.

    >>> patterns = jnp.array([[2.0, 0.0], [0.0, 2.0]])
    >>> modern_update(patterns, jnp.array([[1.5, 0.5]]), beta=4.0).round(2).tolist()
    [[2.0, 0.0]]
    """
    return modern_weights(patterns, states, beta=beta) @ jnp.asarray(patterns)


def modern_associate(
    keys: Patterns, values: Float[Array | np.ndarray, "n v"], states: States, *, beta: Scale
) -> Float[Array, "b v"]:
    """Vᵀ softmax(β K ξ): a state that resembles a key recalls that key's value, one attention head.

    >>> modern_associate(jnp.eye(2), jnp.array([[7.0], [9.0]]), jnp.eye(2)[:1], beta=20.0).round(2).tolist()
    [[7.0]]
    """
    return modern_weights(keys, states, beta=beta) @ jnp.asarray(values)


def modern_retrieve(
    patterns: Patterns, states: States, *, beta: Scale, num_steps: int = 100, tolerance: float = 1e-6
) -> Float[Array, "b d"]:
    """Repeat `modern_update` until no coordinate moves by more than the tolerance, or for the given number of steps.

    >>> patterns = jnp.array([[2.0, 0.0], [0.0, 2.0]])
    >>> modern_retrieve(patterns, jnp.array([[1.2, 0.8]]), beta=2.0).round(2).tolist()
    [[2.0, 0.0]]
    """
    patterns, states = jnp.asarray(patterns), jnp.asarray(states)

    def moving(carry):
        step, _, largest = carry
        return (step < num_steps) & (largest > tolerance)

    def move(carry):
        step, states, _ = carry
        new = modern_update(patterns, states, beta=beta)
        return step + 1, new, jnp.abs(new - states).max()

    return jax.lax.while_loop(moving, move, (0, states, jnp.full((), jnp.inf, states.dtype)))[1]


def modern_energy(patterns: Patterns, states: States, *, beta: Scale) -> Float[Array, " b"]:
    """E(ξ) = -(1/β) log Σₜ exp(β xₜ·ξ) + ‖ξ‖²/2, up to constants (Ramsauer et al. 2021).

    >>> modern_energy(jnp.array([[3.0, 4.0]]), jnp.array([[3.0, 4.0]]), beta=1.0).tolist()
    [-12.5]
    """
    if not isinstance(beta, Tracer) and beta <= 0:
        raise ValueError(f"The energy divides by the inverse temperature beta, which must be positive and is {beta}.")
    states = jnp.asarray(states)
    return -jax.nn.logsumexp(beta * (states @ jnp.asarray(patterns).T), axis=-1) / beta + (states**2).sum(-1) / 2


def separations(patterns: Patterns) -> Float[Array, " n"]:
    """Δₜ = xₜ·xₜ - max_{s≠t} x_s·xₜ: how far each pattern stands apart from the others; at least two are needed.

    >>> separations(jnp.array([[2.0, 0.0], [1.0, 1.0]])).tolist()
    [2.0, 0.0]
    """
    if patterns.shape[0] < 2:
        raise ValueError("One pattern alone has nothing to be separated from: store at least two.")
    gram = jnp.asarray(patterns) @ jnp.asarray(patterns).T
    others = jnp.where(jnp.eye(len(gram), dtype=bool), -jnp.inf, gram)
    return jnp.diagonal(gram) - others.max(1)


def retrieval_bound(
    patterns: Patterns, states: States, targets: Int[Array | np.ndarray, " b"], *, beta: Scale
) -> Float[Array, " b"]:
    """2M (n-1) exp(-β (Δₜ - 2M ‖ξ - xₜ‖)): bounds ‖ξ_new - xₜ‖ after one update, with M = max ‖x_s‖.

    `targets` names the pattern t of each state. A bound of 2M or more says nothing: no update leaves the hull of the
    patterns. (Ramsauer et al. 2021.)

    >>> patterns = jnp.array([[2.0, 0.0], [0.0, 2.0]])
    >>> round(float(retrieval_bound(patterns, patterns[:1], jnp.array([0]), beta=2.0)[0]), 4)
    0.0013
    """
    patterns = jnp.asarray(patterns)
    largest = jnp.linalg.norm(patterns, axis=1).max()
    distance = jnp.linalg.norm(jnp.asarray(states) - patterns[targets], axis=1)
    gap = separations(patterns)[targets] - 2 * largest * distance
    return 2 * largest * (len(patterns) - 1) * jnp.exp(-beta * gap)
