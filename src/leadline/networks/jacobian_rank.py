"""How many parameters a network really has: the rank of its derivative with respect to them over many inputs."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, PyTree

from leadline._checks import require_numbers, require_rows
from leadline.frameworks.network import Apply, of_example


class EffectiveParameters(NamedTuple):
    """The rank of df/dw over a set of inputs beside the number of parameters, and the singular values."""

    rank: int
    parameters: int
    singular_values: Float[np.ndarray, " k"]


def parameter_jacobian(
    apply: Apply, params: PyTree, inputs: Float[Array | np.ndarray, "n ..."]
) -> Float[Array, "rows parameters"]:
    """df/dw with one row for each input and output, one column for each parameter (in the order of `ravel_pytree`).

    >>> from leadline import as_apply, networks
    >>> parameter_jacobian(*as_apply(networks.MLP((3, 4, 2), key=jax.random.key(0))), jnp.ones((5, 3))).shape
    (10, 26)
    """
    require_numbers("parameter_jacobian", params=params, inputs=inputs)
    return _parameter_jacobian(apply, params, inputs)


def effective_parameters(
    apply: Apply, params: PyTree, inputs: Float[Array | np.ndarray, "n ..."], *, tolerance: float = 1e-9
) -> EffectiveParameters:
    """The number of singular values of df/dw over the inputs above `tolerance` times the largest.

    Directions in which the parameters move along a symmetry do not count. A ReLU network loses at least one for every
    hidden unit (its scale); how many more depends on which units are on where.

    >>> from leadline import as_apply, networks
    >>> net = networks.MLP((3, 2, 1), bias=False, key=jax.random.key(2))
    >>> x = jax.random.normal(jax.random.key(1), (200, 3))
    >>> found = effective_parameters(*as_apply(net), x, tolerance=1e-5)
    >>> found.rank, found.parameters
    (6, 8)
    """
    require_rows("effective_parameters", inputs=inputs)
    J = np.asarray(parameter_jacobian(apply, params, inputs), float)
    rows, parameters = J.shape
    if rows > 2 * parameters:
        J = np.linalg.qr(J, mode="r")
    s = np.linalg.svd(J, compute_uv=False)
    return EffectiveParameters(int(np.sum(s > tolerance * s[0])) if s[0] > 0 else 0, parameters, s)


def two_layer_rank(inputs: int, units: int, *, bias: bool) -> int:
    """The rank for a ReLU network with one hidden layer in general position and one output: m d, or m (d+1) + 1.

    That is one less per hidden unit than there are parameters, m (d+1) without biases and m (d+2) + 1 with them.

    >>> two_layer_rank(5, 7, bias=False), two_layer_rank(5, 7, bias=True)
    (35, 43)
    """
    if inputs < 2 or units < 1:
        raise ValueError(
            f"two_layer_rank got {inputs} inputs and {units} units; it needs 2 inputs and 1 unit at least."
        )
    return units * (inputs + 1) + 1 if bias else units * inputs


@eqx.filter_jit
def _parameter_jacobian(apply: Apply, params: PyTree, inputs: Array | np.ndarray) -> Float[Array, "rows parameters"]:
    flat, back = ravel_pytree(params)
    f = of_example(apply)

    def output(w: Float[Array, " parameters"], x: Array) -> Float[Array, " out"]:
        return jnp.ravel(f(back(w), x))

    rows = jax.vmap(jax.jacrev(output), in_axes=(None, 0))(flat, jnp.asarray(inputs))
    return rows.reshape(-1, flat.size)
