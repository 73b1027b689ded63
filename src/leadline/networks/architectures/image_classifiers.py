"""The training of small image classifiers, and what a permutation of pixels does to a dense one."""

from collections.abc import Callable
from typing import TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from leadline.training import scan_steps

Network = TypeVar("Network", bound=Callable[[Array], Array])


def permute_inputs(net: eqx.nn.MLP, permutation: Int[Array | np.ndarray, " d"]) -> eqx.nn.MLP:
    """The dense network that does on x[permutation] what `net` does on x: its first layer's columns are permuted alike.

    >>> net = eqx.nn.MLP(3, "scalar", 4, 1, key=jax.random.key(0))
    >>> x, order = jnp.array([1.0, 2.0, 4.0]), jnp.array([2, 0, 1])
    >>> bool(jnp.isclose(permute_inputs(net, order)(x[order]), net(x)))
    True
    """
    return eqx.tree_at(lambda n: n.layers[0].weight, net, net.layers[0].weight[:, permutation])


def train_classifier(
    net: Network,
    inputs: Float[Array, "n ..."],
    labels: Int[Array, " n"],
    *,
    num_steps: int,
    batch: int = 64,
    rate: float = 1e-3,
    key: PRNGKeyArray,
) -> Network:
    """Adam on the mean cross-entropy of uniform batches, which depend on `key` alone; may be jitted and mapped."""

    def losses(net: Network, key: PRNGKeyArray, _: None, state: None) -> tuple[Float[Array, " batch"], None]:
        chosen = jax.random.randint(key, (batch,), 0, len(labels))
        scores = jax.vmap(net)(inputs[chosen])
        return optax.softmax_cross_entropy_with_integer_labels(scores, labels[chosen]), None

    return scan_steps(losses, net, optax.adam(rate), jax.random.split(key, num_steps)).model


def accuracy(
    net: Callable[[Array], Array], inputs: Float[Array, "n ..."], labels: Int[Array, " n"]
) -> Float[Array, ""]:
    """The share of inputs whose largest score is that of their label."""
    return jnp.mean(jnp.argmax(jax.vmap(net)(inputs), axis=-1) == labels)
