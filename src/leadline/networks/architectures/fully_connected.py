"""The fully connected network, in standard, tangent-kernel (NTK) and mean-field parametrisation."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ..activations import activation as activation_called
from ..initialisers import initialiser

PARAMETRISATIONS = ("standard", "ntk", "mean-field")


class Trace(NamedTuple):
    """All values of one forward pass: pre-activations z₁..z_L and post-activations x₀ (the input) .. x_L."""

    pre: tuple[Float[Array, " _"], ...]
    post: tuple[Float[Array, " _"], ...]


class MLP(eqx.Module):
    """x₀ = x, z_l = W_l x_{l-1} + b_l, x_l = φ(z_l) for l = 1..L, with x_L = z_L unless `last_activation`.

    `widths` = (N₀, ..., N_L). In the standard parametrisation W_l is drawn by the initialiser `init` times `gain` and
    b_l from N(0, bias_scale²). In the NTK parametrisation all parameters are drawn from N(0, 1) and the network uses
    W_l gain/√N_{l-1} and bias_scale b_l in their place: the same function at the start, other step sizes afterwards.
    The mean-field parametrisation is the same with gain/N_{L-1} in the last layer: an average over units, whose
    features move at every width.
    One input at a time (of any shape: it is flattened); map it over a batch with `jax.vmap`.

    >>> net = MLP((64, 32, 10), "tanh", key=jax.random.key(0))
    >>> net(jnp.zeros((8, 8))).shape
    (10,)
    >>> [z.shape for z in net.trace(jnp.ones(64)).pre]
    [(32,), (10,)]
    """

    layers: tuple[eqx.nn.Linear, ...]
    activation: str = eqx.field(static=True)
    last_activation: bool = eqx.field(static=True)
    parametrisation: str = eqx.field(static=True)
    gain: float = eqx.field(static=True)
    bias_scale: float = eqx.field(static=True)

    def __init__(
        self,
        widths: Sequence[int],
        activation: str = "relu",
        *,
        init: str = "he",
        gain: float = 1.0,
        bias: bool = True,
        bias_scale: float = 0.0,
        last_activation: bool = False,
        parametrisation: Literal["standard", "ntk", "mean-field"] = "standard",
        dtype: jax.typing.DTypeLike | None = None,
        key: PRNGKeyArray,
    ):
        if len(widths) < 2 or min(widths) < 1:
            raise ValueError(
                f"MLP got widths {tuple(widths)}; give at least an input and an output width, all positive."
            )
        if parametrisation not in PARAMETRISATIONS:
            raise ValueError(
                f"MLP got parametrisation {parametrisation!r}; choose one of {', '.join(PARAMETRISATIONS)}."
            )
        activation_called(activation)
        self.activation, self.last_activation = activation, last_activation
        self.parametrisation, self.gain, self.bias_scale = parametrisation, gain, bias_scale
        scaled = parametrisation != "standard"
        draw = initialiser("normal" if scaled else init)
        spread = 1.0 if scaled else bias_scale
        layers = []
        for inputs, outputs in pairwise(widths):
            key, key_weight, key_bias = jax.random.split(key, 3)
            # Only the structure is wanted: Equinox's own draws would cost two more compilations for every new shape.
            layer = eqx.filter_eval_shape(eqx.nn.Linear, inputs, outputs, use_bias=bias, dtype=dtype, key=key_weight)
            weight = draw(key_weight, (outputs, inputs), layer.weight.dtype) * (1.0 if scaled else gain)
            layer = eqx.tree_at(lambda m: m.weight, layer, weight)
            if bias:
                drawn = jnp.zeros(outputs, weight.dtype)
                if spread != 0:
                    drawn = spread * jax.random.normal(key_bias, (outputs,), weight.dtype)
                layer = eqx.tree_at(lambda m: m.bias, layer, drawn)
            layers.append(layer)
        self.layers = tuple(layers)

    @property
    def widths(self) -> tuple[int, ...]:
        """(N₀, ..., N_L), from the shapes of the weights."""
        return (self.layers[0].weight.shape[1], *(layer.weight.shape[0] for layer in self.layers))

    def affine(self) -> list[tuple[Float[Array, "out in"], Float[Array, " out"] | None]]:
        """The matrices and vectors (W_l, b_l) that are applied, whatever the parametrisation; b_l may be None."""
        if self.parametrisation == "standard":
            return [(layer.weight, layer.bias) for layer in self.layers]
        return [
            (layer.weight * scale, None if layer.bias is None else of_bias * layer.bias)
            for layer, (scale, of_bias) in zip(self.layers, self.scales(), strict=True)
        ]

    def scales(self) -> list[tuple[float, float]]:
        """What stands before the weight and the bias of each layer: 1 in the standard parametrisation.

        >>> MLP((4, 16, 1), parametrisation="mean-field", bias_scale=0.5, key=jax.random.key(0)).scales()
        [(0.5, 0.5), (0.0625, 0.5)]
        """
        if self.parametrisation == "standard":
            return [(1.0, 1.0)] * len(self.layers)
        powers = [0.5] * len(self.layers)
        if self.parametrisation == "mean-field":
            powers[-1] = 1.0
        return [(self.gain / width**p, self.bias_scale) for width, p in zip(self.widths[:-1], powers, strict=True)]

    def trace(self, x: Float[Array, "..."]) -> Trace:
        """The forward pass with all its pre- and post-activations."""
        phi = activation_called(self.activation)
        affine = self.affine()
        pre, post = [], [x.ravel()]
        for index, (weight, bias) in enumerate(affine):
            z = weight @ post[-1]
            z = z if bias is None else z + bias
            inner = index + 1 < len(affine)
            pre.append(z)
            post.append(phi(z) if inner or self.last_activation else z)
        return Trace(tuple(pre), tuple(post))

    def __call__(self, x: Float[Array, "..."]) -> Float[Array, " out"]:
        return self.trace(x).post[-1]
