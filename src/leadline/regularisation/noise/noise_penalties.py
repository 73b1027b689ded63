"""What noise adds to a loss on average: to second order in its size, a penalty on slopes and curvatures."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Num, PRNGKeyArray, PyTree

from leadline._checks import require_counts, require_rows

from ..penalties.norms import everything


def input_noise_ridge(samples: int, scale: float) -> float:
    """α = n s²: noise N(0, s²I) in the inputs of least squares adds α‖w‖² to ‖y − Xw‖² on average (Bishop 1995).

    >>> input_noise_ridge(100, 0.5)
    25.0
    """
    require_counts("input_noise_ridge", samples=samples)
    if not scale >= 0:
        raise ValueError(f"input_noise_ridge got scale = {scale}; give 0 or more.")
    return samples * scale**2


def input_noise_penalty(
    apply: Callable[[PyTree, Any], Any],
    params: PyTree,
    x: Num[Array | np.ndarray, "n d"],
    y: Num[Array | np.ndarray, " _"],
    scale: float | Float[Array, ""],
) -> Float[Array, " n"]:
    """s²(‖∇f‖² − (y − f)Δf) of each row: what noise N(0, s²I) in x adds to (y − f(x))² on average, up to O(s⁴).

    f is a network of one output, apply(params, inputs) → (n) or (n, 1). The first term is a penalty on slopes, the
    second on the curvature where f misses (Bishop 1995); derivatives are automatic.

    >>> f = lambda w, x: x @ w
    >>> input_noise_penalty(f, jnp.array([3.0, 4.0]), jnp.ones((1, 2)), jnp.array([0.0]), 0.1).round(4).tolist()
    [0.25]
    """
    require_rows("input_noise_penalty", x=x, y=y)
    x, y = jnp.asarray(x), jnp.asarray(y)

    def one(row: Float[Array, " d"], target: Float[Array, ""]) -> Float[Array, ""]:
        def f(at: Float[Array, " d"]) -> Float[Array, ""]:
            return apply(params, at[None]).reshape(())

        slope = jax.grad(f)(row)
        laplacian = jnp.trace(jax.hessian(f)(row))
        return jnp.asarray(scale) ** 2 * (slope @ slope - (target - f(row)) * laplacian)

    return jax.vmap(one)(x, y)


def smoothed_losses(
    loss: Callable[..., Float[Array, ""]],
    params: PyTree,
    scale: float | Float[Array, ""],
    *data: PyTree,
    draws: int,
    key: PRNGKeyArray,
) -> Float[Array, " {draws}"]:
    """(l(w + sξ) + l(w − sξ))/2 for so many draws ξ ~ N(0, I): independent, and each has the mean E l(w + sξ).

    On average it is l(w) + (s²/2) tr H(w) + O(s⁴), exactly so for quadratics: noise in the weights penalises the
    curvature (An 1996). The pair takes away the odd orders. `curvature.hessian(loss, params, *data).trace()` is tr H.

    >>> smoothed_losses(lambda w: jnp.sum(w**2) + w[0], jnp.zeros(2), 0.1, draws=3, key=jax.random.key(0)).shape
    (3,)
    """
    require_counts("smoothed_losses", draws=draws)

    moved, rest = eqx.partition(params, everything(params))

    def pair(own: PRNGKeyArray) -> Float[Array, ""]:
        xi = optax.tree.random_like(own, moved)
        both = (optax.tree.add_scale(moved, sign * jnp.asarray(scale), xi) for sign in (1.0, -1.0))
        return sum((loss(eqx.combine(at, rest), *data) for at in both), jnp.zeros(())) / 2

    return jax.lax.map(pair, jax.random.split(key, draws))
