"""Random two-layer networks in three parametrisations: the test bed of lazy training."""

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from leadline.data import generator
from leadline.networks import TwoLayer

Inputs = Float[Array, "n d"] | Float[np.ndarray, "n d"]
Others = Float[Array, "k d"] | Float[np.ndarray, "k d"]
Targets = Float[Array, " _"] | Float[np.ndarray, " _"]


def lecun_two_layer(
    dim: int,
    width: int,
    activation: str | Callable = "tanh",
    *,
    gain: float = 1.0,
    parametrisation: str = "standard",
    key: PRNGKeyArray,
) -> TwoLayer:
    """A random two-layer network: W has N(0, 1) entries; with g = `gain`, the last layer is

    standard: s = 1, v ~ N(0, g²/m) (LeCun), tangent kernel ~ m; ntk: s = g/√m, v ~ N(0, 1), the same function at the
    start with a kernel of order 1; mean-field: s = g/m, v ~ N(0, 1), where features move at every width.

    >>> import jax
    >>> net = lecun_two_layer(3, 1000, "relu", gain=2**0.5, parametrisation="ntk", key=jax.random.key(0))
    >>> net.weight.shape, bool(abs(net.tangent_kernel(jnp.eye(3))[0, 0] - 2) < 0.3)  # its limit is 2 ‖x‖²
    ((1000, 3), True)
    """
    if dim < 1 or width < 1:
        raise ValueError(f"lecun_two_layer got dim {dim} and width {width}; both are at least 1.")
    rng = generator(key)
    weight, head = rng.standard_normal((width, dim)), rng.standard_normal(width)
    match parametrisation:
        case "standard":
            head, scale = head * gain / width**0.5, 1.0
        case "ntk":
            scale = gain / width**0.5
        case "mean-field":
            scale = gain / width
        case _:
            raise ValueError(
                f"lecun_two_layer got parametrisation {parametrisation!r}; choose 'standard', 'ntk' or 'mean-field'."
            )
    return TwoLayer(jnp.asarray(weight), jnp.asarray(head), activation, scale)
