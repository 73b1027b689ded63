"""Backpropagation through time of an Elman network z_t = φ(U z_{t-1} + V x_t + b), written out by hand."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from leadline.networks.activation_catalogue import activation_facts


class ElmanPass(NamedTuple):
    """The forward pass: pre-activations a_t = U z_{t-1} + V x_t + b and states z_t, t = 1..T, and the start z_0."""

    pre: Float[Array, "steps m"]
    states: Float[Array, "steps m"]
    start: Float[Array, " m"]

    @property
    def before(self) -> Float[Array, "steps m"]:
        """z_{t-1} for t = 1..T."""
        return jnp.concatenate([self.start[None], self.states[:-1]])


class ElmanGradients(NamedTuple):
    """dE/dU, dE/dV, dE/db, dE/dz_0, and dE/dz_t for t = 1..T."""

    U: Float[Array, "m m"]
    V: Float[Array, "m n"]
    b: Float[Array, " m"]
    start: Float[Array, " m"]
    states: Float[Array, "steps m"]


def elman_forward(
    U: Float[Array, "m m"],
    V: Float[Array, "m n"],
    x: Float[Array, "steps n"],
    *,
    b: Float[Array, " m"] | None = None,
    start: Float[Array, " m"] | None = None,
    phi: str = "tanh",
) -> ElmanPass:
    """Run z_t = φ(U z_{t-1} + V x_t + b) over one sequence and keep what the backward pass needs.

    >>> ran = elman_forward(jnp.array([[0.5]]), jnp.array([[1.0]]), jnp.ones((3, 1)), phi="identity")
    >>> ran.states[:, 0].tolist()
    [1.0, 1.5, 1.75]
    """
    f = activation_facts(phi).function
    z = jnp.zeros(len(U), jnp.result_type(U)) if start is None else jnp.asarray(start)
    driven = x @ V.T if b is None else x @ V.T + b

    def move(z: Array, own: Array) -> tuple[Array, tuple[Array, Array]]:
        pre = U @ z + own
        moved = f(pre)
        return moved, (pre, moved)

    _, (pre, states) = jax.lax.scan(move, z, driven)
    return ElmanPass(pre, states, z)


def elman_backward(
    U: Float[Array, "m m"],
    V: Float[Array, "m n"],
    x: Float[Array, "steps n"],
    ran: ElmanPass,
    state_gradients: Float[Array, "steps m"],
    *,
    phi: str = "tanh",
) -> ElmanGradients:
    """The gradient of E = Σ_t l_t(z_t) from ∂l_t/∂z_t, the `state_gradients`.

    g_t = ∂l_t/∂z_t + J_{t+1}ᵀ g_{t+1} with J_t = diag(φ'(a_t)) U, backwards; then dE/dU = Σ_t (φ'(a_t) ⊙ g_t) z_{t-1}ᵀ,
    dE/dV = Σ_t (φ'(a_t) ⊙ g_t) x_tᵀ, dE/db = Σ_t φ'(a_t) ⊙ g_t and dE/dz_0 = J_1ᵀ g_1. Werbos 1990.

    >>> U, V, x = jnp.array([[0.5]]), jnp.array([[1.0]]), jnp.ones((3, 1))
    >>> ran = elman_forward(U, V, x, phi="identity")
    >>> elman_backward(U, V, x, ran, jnp.array([[0.0], [0.0], [1.0]]), phi="identity").U.item()  # z_2 + U z_1
    2.0
    """
    slopes = activation_facts(phi).derivative(ran.pre)

    def back(later: Array, at: tuple[Array, Array]) -> tuple[Array, Array]:
        own, slope = at
        g = own + later
        return U.T @ (slope * g), g

    start, g = jax.lax.scan(back, jnp.zeros_like(ran.start), (state_gradients, slopes), reverse=True)
    local = slopes * g
    return ElmanGradients(local.T @ ran.before, local.T @ x, local.sum(axis=0), start, g)
