"""How nearly linear a function is in its parameters: the norm of its Hessian against its squared gradient."""

import math
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, PyTree

from leadline._checks import require_numbers
from leadline.curvature import hessian
from leadline.frameworks.network import Apply, ExampleFunction

from ..functions import checked_function


class HessianRatio(NamedTuple):
    """‖Hess f‖₂, ‖∇f‖² and their quotient for each input, and the unit direction (as from `ravel_pytree`) in which the
    function bends most."""

    hessian_norm: Float[np.ndarray, " n"]
    squared_gradient: Float[np.ndarray, " n"]
    ratio: Float[np.ndarray, " n"]
    direction: Float[np.ndarray, "n p"]


def hessian_gradient_ratio(
    apply: Apply, params: PyTree, x: Any, *, output: int = 0, tolerance: float = 1e-6
) -> HessianRatio:
    """‖∂²f(x)/∂θ²‖₂/‖∂f(x)/∂θ‖² of one output at every row of x, by `curvature.hessian(...).top` to a residual of
    `tolerance` times the norm.

    Over a change of the output by O(1) the gradient turns by about this much; small means that the function is nearly
    its linearisation. O(m^(-1/2)) in the width for networks in the NTK parametrisation (Liu, Zhu and Belkin 2020).

    >>> found = hessian_gradient_ratio(lambda w, x: x * (w[0] ** 2 - 3 * w[1] ** 2), jnp.array([1.0, 0.0]), jnp.ones(1))
    >>> [round(float(value[0]), 3) for value in found[:3]]
    [6.0, 4.0, 1.5]
    """
    require_numbers("hessian_gradient_ratio", params=params)
    g, x, shape = checked_function(apply, params, x)
    size = math.prod(shape)
    if not -size <= output < size:
        raise ValueError(f"hessian_gradient_ratio got output {output}, but the network has {size}; count from 0.")
    score, params = _Output(g, output % size), jax.tree.map(jnp.asarray, params)
    ends = [hessian(score, params, x[i : i + 1]).top(1, which="magnitude", tolerance=tolerance) for i in range(len(x))]
    norm = np.abs(np.concatenate([end.values for end in ends]))
    squared = np.asarray(_squared_gradients(score, params, x))
    return HessianRatio(norm, squared, norm / squared, np.concatenate([end.vectors for end in ends]))


class _Output(eqx.Module):
    """One output of f at the one row of a batch."""

    f: ExampleFunction
    output: int = eqx.field(static=True)

    def __call__(self, params: PyTree, rows: Array) -> Float[Array, ""]:
        return jnp.ravel(self.f(params, rows[0]))[self.output]


@eqx.filter_jit
def _squared_gradients(score: _Output, params: PyTree, x: Array) -> Float[Array, " n"]:
    def at(row: Array) -> Float[Array, ""]:
        return jnp.sum(ravel_pytree(jax.grad(score)(params, row[None]))[0] ** 2)

    return jax.lax.map(at, x)
