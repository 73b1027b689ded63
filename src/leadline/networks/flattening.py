"""All parameters of a model as one vector, and back."""

from collections.abc import Callable
from typing import TypeVar

import equinox as eqx
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Inexact, PyTree

Model = TypeVar("Model", bound=PyTree)


def flatten_parameters(model: Model) -> tuple[Inexact[Array, " p"], Callable[[Inexact[Array, " p"]], Model]]:
    """The vector w of all floating-point parameters, and the map from such vectors to models; nothing is lost.

    The second is differentiable and pure, so that vector algorithms apply: f(w) = loss(rebuild(w)). Parameters of
    several dtypes are stored in the widest and get their own back.

    >>> import jax, jax.numpy as jnp
    >>> w, rebuild = flatten_parameters({"W": jnp.ones((2, 3)), "b": jnp.zeros(2), "name": "layer"})
    >>> w.shape, rebuild(2 * w)["W"].sum().item(), rebuild(w)["name"]
    ((8,), 12.0, 'layer')
    """
    parameters, rest = eqx.partition(model, eqx.is_inexact_array)
    vector, unravel = ravel_pytree(parameters)

    def rebuild(vector: Inexact[Array, " p"]) -> Model:
        return eqx.combine(unravel(vector), rest)

    return vector, rebuild
