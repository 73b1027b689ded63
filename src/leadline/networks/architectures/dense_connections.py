"""The densely connected network: every layer reads the input and all layers before it."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ..activations import activation as activation_called
from .residual import drawn_linear


class DenseNetwork(eqx.Module):
    """x_{l+1} = φ(W_{l+1} [x_l, ..., x_1, x] + b_{l+1}) for l = 0..L-1, then a linear layer of all of them.

    Each of the L = `depth` layers has k = `growth` units and reads k₀ + l k numbers, the newest first. Huang et al.
    2017. One input at a time (of any shape: it is flattened); map it over a batch with `jax.vmap`.

    >>> net = DenseNetwork(64, 12, 4, 10, key=jax.random.key(0))
    >>> net(jnp.zeros((8, 8))).shape, [layer.weight.shape[1] for layer in net.layers]
    ((10,), [64, 76, 88, 100])
    """

    layers: tuple[eqx.nn.Linear, ...]
    last: eqx.nn.Linear
    activation: str = eqx.field(static=True)

    def __init__(
        self,
        inputs: int,
        growth: int,
        depth: int,
        outputs: int,
        activation: str = "relu",
        *,
        init: str = "he",
        dtype: jax.typing.DTypeLike | None = None,
        key: PRNGKeyArray,
    ):
        if min(inputs, growth, depth, outputs) < 1:
            raise ValueError(
                f"DenseNetwork got inputs {inputs}, growth {growth}, depth {depth}, outputs {outputs}; "
                "all must be positive."
            )
        activation_called(activation)
        self.activation = activation
        *keys, key_last = jax.random.split(key, depth + 1)
        reads = [inputs + index * growth for index in range(depth + 1)]
        self.layers = tuple(
            drawn_linear(fan, growth, init, dtype, key=k) for fan, k in zip(reads[:-1], keys, strict=True)
        )
        self.last = drawn_linear(reads[-1], outputs, init, dtype, key=key_last)

    def states(self, x: Float[Array, "..."]) -> tuple[Float[Array, " _"], ...]:
        """The input and what each layer adds to it: x, x_1, ..., x_L."""
        phi = activation_called(self.activation)
        states = [x.ravel()]
        for layer in self.layers:
            states.append(phi(layer(jnp.concatenate(states[::-1]))))
        return tuple(states)

    def __call__(self, x: Float[Array, "..."]) -> Float[Array, " out"]:
        return self.last(jnp.concatenate(self.states(x)[::-1]))

    def without_skips(self) -> "DenseNetwork":
        """The same network with zero weights on all but the previous layer: a plain chain.

        >>> net = DenseNetwork(3, 2, 3, 1, key=jax.random.key(0)).without_skips()
        >>> [int((layer.weight != 0).any(0).sum()) for layer in (*net.layers, net.last)]
        [3, 2, 2, 2]
        """
        growth = self.layers[0].weight.shape[0]

        def chain(net):
            return [layer.weight for layer in (*net.layers[1:], net.last)]

        return eqx.tree_at(chain, self, [w.at[:, growth:].set(0) for w in chain(self)])


def dense_weight_count(inputs: int, growth: int, depth: int) -> int:
    """Weights of the L dense layers without biases and without the output layer: L k k₀ + k² L(L-1)/2.

    >>> dense_weight_count(64, 12, 4)
    3936
    """
    return depth * growth * inputs + growth**2 * depth * (depth - 1) // 2
