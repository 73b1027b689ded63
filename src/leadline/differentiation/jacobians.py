"""Jacobians of layers and networks, and what their singular values say."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from leadline.networks import MLP


class JacobianReport(NamedTuple):
    """The matrix J_ij = ∂F_i/∂x_j at a point, and what it does to small changes of the input."""

    matrix: Float[np.ndarray, "m n"]
    singular_values: Float[np.ndarray, " k"]  # largest first
    lipschitz: float  # the largest: no small change grows more
    condition: float  # largest over smallest of min(m, n); inf if that is 0
    rank: int
    mode: str  # "forward" or "reverse"


def jacobian_matrix(
    function: Callable[[Any], Any], x: Float[Array, "..."], *, mode: str = "auto"
) -> Float[Array, "m n"]:
    """The m x n matrix ∂F_i/∂x_j; inputs and outputs of any shape are flattened.

    Forward mode takes n passes, reverse mode m; "auto" takes the fewer.

    >>> jacobian_matrix(lambda x: jnp.array([x[0] * x[1]]), jnp.array([2.0, 3.0])).tolist()
    [[3.0, 2.0]]
    """
    if mode not in ("auto", "forward", "reverse"):
        raise ValueError(f"There is no mode {mode!r}; choose 'auto', 'forward' or 'reverse'.")
    outputs = jax.eval_shape(function, x).size
    differentiate = jax.jacfwd if _mode(mode, outputs, x.size) == "forward" else jax.jacrev
    return differentiate(function)(x).reshape(outputs, x.size)


def jacobian_report(function: Callable[[Any], Any], x: Float[Array, "..."], *, mode: str = "auto") -> JacobianReport:
    """The Jacobian of any layer or network at x with its singular values, local Lipschitz constant and condition.

    >>> report = jacobian_report(lambda x: jnp.array([[3.0, 0.0], [0.0, 4.0], [0.0, 0.0]]) @ x, jnp.zeros(2))
    >>> report.matrix.shape, report.singular_values.tolist(), report.rank, report.mode
    ((3, 2), [4.0, 3.0], 2, 'forward')
    """
    matrix = np.asarray(jacobian_matrix(function, x, mode=mode))
    used = _mode(mode, *matrix.shape)
    values = np.linalg.svd(matrix, compute_uv=False)
    condition = float(values[0] / values[-1]) if values[-1] > 0 else float("inf")
    threshold = values[0] * max(matrix.shape) * np.finfo(matrix.dtype).eps
    return JacobianReport(matrix, values, float(values[0]), condition, int((values > threshold).sum()), used)


def layer_jacobians(net: MLP, x: Float[Array, "..."]) -> list[Float[Array, "outputs inputs"]]:
    """The Jacobians ∂h_l/∂h_{l-1} = diag(φ'(z_l)) W_l of every layer of a network at x; their product is the whole one.

    >>> net = MLP((3, 4, 2), "tanh", key=jax.random.key(0))
    >>> [j.shape for j in layer_jacobians(net, jnp.ones(3))]
    [(4, 3), (2, 4)]
    """
    from leadline.networks.activation_catalogue import activation_facts

    slope, affine = activation_facts(net.activation).derivative, net.affine()
    last = len(affine) if net.last_activation else len(affine) - 1
    return [
        slope(z)[:, None] * weight if number < last else weight
        for number, ((weight, _), z) in enumerate(zip(affine, net.trace(x).pre, strict=True))
    ]


def composed_log_determinant(
    maps: Sequence[Callable[[Any], Any]], x: Float[Array, " n"]
) -> tuple[Float[Array, " n"], Float[Array, ""], Float[Array, ""]]:
    """The end point, the sign and log|det J| of a composition of maps of Rⁿ, by adding their log-determinants.

    log|det J_{f_k ∘ ... ∘ f_1}(x)| = Σ_i log|det J_{f_i}(x_{i-1})|, signs multiply; determinants themselves would over-
    or underflow.

    >>> end, sign, log = composed_log_determinant([lambda x: -2 * x, lambda x: x + 1], jnp.zeros(3))
    >>> end.tolist(), float(sign), round(float(jnp.exp(log)), 6)
    ([1.0, 1.0, 1.0], -1.0, 8.0)
    """
    sign, total = jnp.ones((), x.dtype), jnp.zeros((), x.dtype)
    for step in maps:
        one, log = jnp.linalg.slogdet(jacobian_matrix(step, x))
        sign, total, x = sign * one, total + log, step(x)
    return x, sign, total


def _mode(mode: str, outputs: int, inputs: int) -> str:
    return mode if mode != "auto" else "forward" if inputs <= outputs else "reverse"
