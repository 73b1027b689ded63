"""The diagonal G of squared per-example gradients, exactly and as a running average, and steps scaled by it."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num

from leadline._checks import require


def squared_gradient_diagonal(
    loss: Callable[..., Float[Array, ""]], w: Float[Array, " p"], *rows: Num[Array, "n ..."]
) -> Float[Array, " p"]:
    """G_kk = (1/n) Σᵢ (∂ℓᵢ/∂w_k)², ℓᵢ = loss(w, *rowᵢ).

    >>> squared_gradient_diagonal(lambda w, y: w[0] * y, jnp.zeros(2), jnp.array([1.0, 3.0])).tolist()
    [5.0, 0.0]
    """
    gradients = jax.vmap(jax.grad(loss), (None, *(0 for _ in rows)))(w, *rows)
    return jnp.mean(gradients**2, axis=0)


def scaled_direction(
    gradient: Float[Array, " p"], diagonal: Float[Array, " p"], delta: float = 1e-8
) -> Float[Array, " p"]:
    """g_k/(√G_kk + δ).

    >>> scaled_direction(jnp.array([2.0]), jnp.array([4.0]), 0.0).tolist()
    [1.0]
    """
    return gradient / (jnp.sqrt(diagonal) + delta)


def running_squares(gradients: Float[np.ndarray, "t p"], decay: float | None = 0.99) -> Float[np.ndarray, "t p"]:
    """v ← βv + (1 − β)g² from 0 (RMSProp), or with `decay` None the sum of squares (AdaGrad), after every step.

    >>> gradients = np.array([[2.0], [1.0]])
    >>> running_squares(gradients, 0.5).tolist(), running_squares(gradients, None).tolist()
    ([[2.0], [1.5]], [[4.0], [5.0]])
    """
    require("running_squares", axes=2, gradients=gradients)
    if decay is None:
        return np.cumsum(np.asarray(gradients) ** 2, axis=0)
    squares = np.asarray(gradients) ** 2
    average, found = np.zeros(squares.shape[1]), np.empty(squares.shape)
    for t, square in enumerate(squares):
        average = decay * average + (1 - decay) * square
        found[t] = average
    return found
