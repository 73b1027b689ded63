"""Two small image classifiers, one that knows which pixels are neighbours and one that does not, and their training."""

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


class ConvClassifier(eqx.Module):
    """Scores of `classes` from one image: twice a 3x3 convolution, ReLU and 2x2 max pooling, then a linear layer.

    An image is (height, width), or (height, width, colours) where it has more than one.

    >>> net = ConvClassifier(8, 8, 10, key=jax.random.key(0))
    >>> net(jnp.zeros((8, 8))).shape
    (10,)
    """

    first: eqx.nn.Conv2d
    second: eqx.nn.Conv2d
    head: eqx.nn.Linear

    def __init__(
        self,
        height: int,
        width: int,
        classes: int,
        channels: int = 8,
        *,
        colours: int = 1,
        dtype=jnp.float32,
        key: PRNGKeyArray,
    ):
        if height % 4 or width % 4:
            raise ValueError(
                f"ConvClassifier got {height} x {width} images; two poolings by 2 need sides that are multiples of 4."
            )
        keys = jax.random.split(key, 3)
        self.first = eqx.nn.Conv2d(colours, channels, 3, padding=1, dtype=dtype, key=keys[0])
        self.second = eqx.nn.Conv2d(channels, 2 * channels, 3, padding=1, dtype=dtype, key=keys[1])
        self.head = eqx.nn.Linear(2 * channels * height * width // 16, classes, dtype=dtype, key=keys[2])

    def __call__(self, image: Float[Array, "height width *colours"]) -> Float[Array, " classes"]:
        image = image.astype(self.first.weight.dtype)
        planes = image[None] if image.ndim == 2 else jnp.moveaxis(image, -1, 0)
        hidden = _pool(jax.nn.relu(self.first(planes)))  # (channels, height/2, width/2)
        hidden = _pool(jax.nn.relu(self.second(hidden)))  # (2 channels, height/4, width/4)
        return self.head(hidden.ravel())


def _pool(x: Float[Array, "channels height width"]) -> Float[Array, "channels half_height half_width"]:
    """2x2 max pooling by reshaping: on CPUs its gradient is many times faster than that of a window reduction."""
    c, h, w = x.shape
    return jnp.max(x.reshape(c, h // 2, 2, w // 2, 2), axis=(2, 4))


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
