"""Where descent ends, from many starts at once: the basins of gradient descent and of the gradient flow."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int


@eqx.filter_jit
def _ends(objective: Callable, starts: Array, step: Array, steps: Array, flow: bool) -> Array:
    gradient = jax.vmap(jax.grad(objective))

    def euler(_: Array, w: Array) -> Array:
        return w - step * gradient(w)

    def runge_kutta(_: Array, w: Array) -> Array:
        a = gradient(w)
        b = gradient(w - step / 2 * a)
        c = gradient(w - step / 2 * b)
        d = gradient(w - step * c)
        return w - step / 6 * (a + 2 * b + 2 * c + d)

    return jax.lax.fori_loop(0, steps, runge_kutta if flow else euler, starts)


def ends_of_descent(
    objective: Callable,
    starts: Float[Array | np.ndarray, "n p"],
    step_size: float,
    num_steps: int,
    *,
    method: str = "gradient descent",
) -> Float[np.ndarray, "n p"]:
    """The points after `num_steps` steps from each start; "flow" takes Runge-Kutta steps of order 4 along −∇l.

    Steps and their size are data: one compilation serves them all. Runs that diverge end in infinities or NaN.

    >>> ends_of_descent(lambda w: w @ w, np.array([[1.0], [-2.0]]), 0.25, 2).tolist()
    [[0.25], [-0.5]]
    """
    if method not in ("gradient descent", "flow"):
        raise ValueError(f"method is {method!r}; give 'gradient descent' or 'flow'.")
    if not step_size > 0:
        raise ValueError(f"ends_of_descent got the step {step_size:g}; give a step above 0.")
    starts = jnp.asarray(starts, float)
    return np.asarray(_ends(objective, starts, jnp.asarray(step_size, float), jnp.asarray(num_steps), method == "flow"))


def nearest_limits(
    ends: Float[np.ndarray, "n p"], limits: Float[np.ndarray, "k p"], radius: float
) -> Int[np.ndarray, " n"]:
    """The index of the limit nearest to each end, −1 where none is within `radius` (diverged, or not yet arrived).

    >>> nearest_limits(np.array([[0.1], [0.9], [5.0], [np.nan]]), np.array([[0.0], [1.0]]), 0.5).tolist()
    [0, 1, -1, -1]
    """
    away = np.linalg.norm(ends[:, None] - limits[None], axis=2)
    away = np.where(np.isfinite(away), away, np.inf)
    return np.where(away.min(1) <= radius, away.argmin(1), -1)
