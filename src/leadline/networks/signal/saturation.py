"""Which units of a network still respond to a data set: dead and saturated units, and the moments of each."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from leadline._checks import require

from ..activation_catalogue import activation_facts
from ..architectures.fully_connected import MLP
from ..features import layer_features


class UnitActivity(NamedTuple):
    """The units of one layer on a data set."""

    dead: Bool[Array, " units"]  # φ'(z) = 0 on every input: for ReLU, never above 0
    saturated: Float[Array, " units"]  # share of inputs with |φ'(z)| < 0.01 max |φ'|
    zeros: Float[Array, " units"]  # share of inputs with output 0
    pre_mean: Float[Array, " units"]
    pre_variance: Float[Array, " units"]
    post_mean: Float[Array, " units"]
    post_variance: Float[Array, " units"]


def unit_activity(
    net: MLP, inputs: Float[Array | np.ndarray, "n ..."], *, threshold: float = 0.01
) -> list[UnitActivity]:
    """One `UnitActivity` for every layer that has an activation, from the first hidden layer up.

    A dead unit gets no gradient from any of the inputs. Leaky ReLU has none: its slope is nowhere 0.

    >>> import jax
    >>> net = MLP((2, 3, 1), bias_scale=0.0, key=jax.random.key(0))
    >>> [layer.dead.shape for layer in unit_activity(net, jnp.ones((5, 2)))]
    [(3,)]
    """
    require("unit_activity", inputs=inputs)
    facts = activation_facts(net.activation)
    features = layer_features(net, inputs)
    layers = len(features.pre) if net.last_activation else len(features.pre) - 1
    report = []
    for z, h in zip(features.pre[:layers], features.post[1 : layers + 1], strict=True):
        slope = jnp.abs(facts.derivative(z))
        report.append(
            UnitActivity(
                dead=jnp.all(slope == 0, axis=0),
                saturated=jnp.mean(slope < threshold * facts.lipschitz, axis=0, dtype=z.dtype),
                zeros=jnp.mean(h == 0, axis=0, dtype=z.dtype),
                pre_mean=z.mean(axis=0),
                pre_variance=z.var(axis=0),
                post_mean=h.mean(axis=0),
                post_variance=h.var(axis=0),
            )
        )
    return report
