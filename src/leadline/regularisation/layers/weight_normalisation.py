"""Weight normalisation: length and direction of each unit's weights as separate parameters."""

from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float

from leadline._checks import require

Layer = TypeVar("Layer", bound=eqx.Module)


def weight_normalised(layer: Layer) -> eqx.nn.WeightNorm[Layer]:
    """The layer with w = g v/‖v‖ for each unit (row of `weight`), in Equinox' `WeightNorm`, from g = ‖v‖, v = w.

    The function is the same; the parameters to train are g and v (Salimans and Kingma 2016). A row of zeros has no
    direction and is refused.

    >>> linear = eqx.nn.Linear(3, 2, key=jax.random.key(0))
    >>> x = jnp.array([1.0, -1.0, 2.0])
    >>> bool(jnp.allclose(weight_normalised(linear)(x), linear(x)))
    True
    """
    weight: Any = getattr(layer, "weight", None)
    if not eqx.is_inexact_array(weight) or weight.ndim < 2:
        raise ValueError(
            f"weight_normalised got {type(layer).__name__} without a matrix `weight`; give a linear layer or a "
            "convolution."
        )
    lengths = np.linalg.norm(np.asarray(weight).reshape(len(weight), -1), axis=1)
    if not np.all(lengths > 0):
        unit = int(np.argmin(lengths))
        raise ValueError(
            f"weight_normalised got weights that are all 0 at unit {unit}; 0 has no direction: start it elsewhere."
        )
    return eqx.nn.WeightNorm(layer)


def data_dependent_start(
    layer: eqx.nn.WeightNorm[Layer], x: Float[Array, "n ..."], *, epsilon: float = 0.0
) -> eqx.nn.WeightNorm[Layer]:
    """g and bias set so that each unit's outputs on the rows `x` have mean 0 and variance 1.

    With t = v·x/‖v‖ of mean m and standard deviation s over the rows (and the positions of an image): g = 1/√(s² + ε),
    b = −m g (Salimans and Kingma 2016). Units whose outputs are all equal are refused where ε = 0.

    >>> layer = weight_normalised(eqx.nn.Linear(3, 2, key=jax.random.key(0)))
    >>> x = 5.0 + 3.0 * jax.random.normal(jax.random.key(1), (64, 3))
    >>> out = jax.vmap(data_dependent_start(layer, x))(x)
    >>> jnp.abs(out.mean(0)).max() < 1e-5, jnp.abs(out.std(0) - 1).max() < 1e-5
    (Array(True, dtype=bool), Array(True, dtype=bool))
    """
    require("data_dependent_start", x=x)
    inner: Any = layer.layer
    if inner.bias is None:
        raise ValueError("data_dependent_start got a layer without a bias, which it has to set; make it with one.")
    bare = eqx.tree_at(lambda n: (n.g, n.layer.bias), layer, (jnp.ones_like(layer.g), jnp.zeros_like(inner.bias)))
    outputs = jax.vmap(bare)(x)  # (n, units, ...)
    axes = (0, *range(2, outputs.ndim))
    mean, variance = jnp.mean(outputs, axes), jnp.var(outputs, axes)
    if epsilon == 0 and not isinstance(variance, Tracer) and not bool(jnp.all(variance > 0)):
        raise ValueError(
            f"data_dependent_start got rows on which unit {int(jnp.argmin(variance))} is constant; give rows that "
            "differ, or an epsilon above 0."
        )
    gain = jax.lax.rsqrt(variance + epsilon)
    given = gain.reshape(layer.g.shape), (-mean * gain).reshape(inner.bias.shape)
    return eqx.tree_at(lambda n: (n.g, n.layer.bias), layer, given)


def weight_norm_gradients(
    v: Float[Array, "units ..."], gain: Float[Array, " units"], dw: Float[Array, "units ..."]
) -> tuple[Float[Array, " units"], Float[Array, "units ..."]]:
    """∂l/∂g = dw·v/‖v‖ and ∂l/∂v = (g/‖v‖)(dw − (dw·v) v/‖v‖²) for each unit, from dw = ∂l/∂w at w = g v/‖v‖.

    The second is orthogonal to v: a step of gradient descent can only lengthen it (Salimans and Kingma 2016).

    >>> dg, dv = weight_norm_gradients(jnp.array([[3.0, 4.0]]), jnp.array([10.0]), jnp.array([[1.0, 0.0]]))
    >>> round(float(dg[0]), 4), [round(float(part), 4) for part in dv[0]]
    (0.6, [1.28, -0.96])
    """
    if v.shape != dw.shape or gain.shape != v.shape[:1]:
        raise ValueError(
            f"weight_norm_gradients got v of shape {v.shape}, gain of {gain.shape} and dw of {dw.shape}; give v and dw "
            "alike and a gain for each row."
        )
    rows, slopes = v.reshape(len(v), -1), dw.reshape(len(v), -1)
    length = jnp.linalg.norm(rows, axis=1)
    if not isinstance(length, Tracer) and not bool(jnp.all(length > 0)):
        raise ValueError(
            f"weight_norm_gradients got v = 0 at unit {int(jnp.argmin(length))}, which has no direction; start it "
            "elsewhere."
        )
    along = jnp.sum(slopes * rows, axis=1) / length
    tangent = slopes - along[:, None] * rows / length[:, None]
    return along, (gain / length * tangent.T).T.reshape(v.shape)
