"""The convolutional network of a specification: a list of layers on inputs of one to three dimensions."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Num, PRNGKeyArray

from leadline.networks import activation as activation_called
from leadline.networks.initialisers import initialiser
from leadline.regularisation.layers.normalisation import Normalisation
from leadline.regularisation.layers.running_statistics import require_statistics

from .block_kinds import Layer, Parallel, Residual, UpLayer, is_weighted
from .built_layers import BuiltLayer, Drawing, build
from .layer_kinds import ConvLayer, DenseLayer, Shape
from .stack_calculator import StackCosts, stack_costs


class ConvNetwork(eqx.Module):
    """A network made of `layers` for one example of shape (channels, *sides), with 1 to 3 sides.

    The activation stands behind every layer with weights but the last (a block counts as one layer: behind the sum of
    a `Residual`, behind each layer of a `Parallel`). A `normalisation` ("batch", "layer", "group", "instance"), if
    given, stands before the activation of each. Weights are drawn by `init` with the fan-in of a window, (input
    channels / groups) · kernel^d; biases begin at 0.

    A call is one example's, net(x), and a batch is `jax.vmap(net)`. With dropout or batch normalisation it is
    net(x, state, key=key) -> (output, state), as in `regularisation.RegularisedMLP`; `regularisation.ModalObjective`
    trains it, and `eqx.nn.make_with_state(ConvNetwork)(...)` makes it. `summary()` tells shapes, parameters and
    receptive fields.

    >>> from leadline.convolution import ConvLayer, DenseLayer, GlobalPool, PoolLayer
    >>> net = ConvNetwork(
    ...     [ConvLayer(4, 3, padding="same"), PoolLayer(2), ConvLayer(8, 3), GlobalPool("max"), DenseLayer(10)],
    ...     (1, 9, 9), key=jax.random.key(0),
    ... )
    >>> net(jnp.ones((1, 9, 9))).shape
    (10,)
    >>> print(net.summary())
    layer                 output     parameters  field
    conv                  4 x 9 x 9          40  3
    pool                  4 x 4 x 4           0  4  stride 2 leaves the last 1 of 9 positions unseen
    conv                  8 x 2 x 2         296  8
    max over positions    8                   0  all
    dense                 10                 90  all
    together                                426
    """

    built: tuple[BuiltLayer, ...]
    layers: tuple[Layer, ...] = eqx.field(static=True)
    shape: Shape = eqx.field(static=True)
    activation: str = eqx.field(static=True)

    def __init__(
        self,
        layers: Sequence[Layer],
        shape: Sequence[int],
        activation: str = "relu",
        *,
        normalisation: Normalisation | None = None,
        init: str = "he",
        dtype: jax.typing.DTypeLike | None = None,
        key: PRNGKeyArray,
    ):
        shape = tuple(shape)
        if not 2 <= len(shape) <= 4:
            raise ValueError(
                f"ConvNetwork got the input shape {shape}; give (channels, *sides) with one to three sides."
            )
        if not layers:
            raise ValueError("ConvNetwork got no layers; give one or more.")
        activation_called(activation)
        initialiser(init)
        self.layers = _settled(layers, normalisation, ends=True, given_up=True)
        self.shape, self.activation = shape, activation
        stack_costs(self.layers, shape)
        self.built = build(self.layers, shape, Drawing(activation, init, jnp.zeros((), dtype).dtype), key)

    def __call__(
        self, x: Num[Array, "channels ..."], state: eqx.nn.State | None = None, *, key: PRNGKeyArray | None = None
    ) -> Float[Array, "..."] | tuple[Float[Array, "..."], eqx.nn.State]:
        *_, (output, after) = self._run(x, state, key)
        return output if after is None else (output, after)

    def stages(
        self, x: Num[Array, "channels ..."], state: eqx.nn.State | None = None, *, key: PRNGKeyArray | None = None
    ) -> list[Float[Array, "..."]]:
        """The output of every layer, in order, each behind its activation."""
        return [each for each, _ in self._run(x, state, key)]

    def costs(self) -> StackCosts:
        """Shapes, parameters, work and receptive fields, layer by layer."""
        return stack_costs(self.layers, self.shape)

    def summary(self) -> str:
        """Shapes, parameters and receptive fields as a table, with a word where a stride leaves positions unseen."""
        costs = self.costs()
        rows = [("layer", "output", "parameters", "field", "")]
        for row in costs.rows:
            sides, count = " x ".join(map(str, row.shape)), f"{row.weights + row.biases:,}"
            rows.append((row.kind, sides, count, "all" if row.field is None else str(row.field), row.note))
        rows.append(("together", "", f"{costs.parameters:,}", "", ""))
        name, sides, count = (max(len(row[column]) for row in rows) for column in range(3))
        return "\n".join(
            f"{a:<{name + 2}}  {b:<{sides}}  {c:>{count}}  {field}  {note}".rstrip() for a, b, c, field, note in rows
        )

    def _run(
        self, x: Array, state: eqx.nn.State | None, key: PRNGKeyArray | None
    ) -> Iterator[tuple[Array, eqx.nn.State | None]]:
        if x.ndim != len(self.shape) or x.shape[0] != self.shape[0]:
            raise ValueError(
                f"ConvNetwork got an example of shape {x.shape}; it was made for {self.shape}, and "
                "a batch is jax.vmap(net)."
            )
        if state is not None:
            require_statistics(self, state)
        for index, layer in enumerate(self.built):
            x, state = layer(x, state, None if key is None else jax.random.fold_in(key, index))
            yield x, state


def _settled(
    layers: Sequence[Layer], normalisation: Normalisation | None, *, ends: bool, given_up: bool = False
) -> tuple[Layer, ...]:
    """The layers with the network's normalisation, and the last one with weights `linear` if the stack `ends` there.

    `given_up` says that this last layer has no normalisation either: it is the last one of the network.
    """
    last = max((i for i, layer in enumerate(layers) if is_weighted(layer)), default=-1)
    settled = []
    for index, layer in enumerate(layers):
        at_end = ends and index == last
        if isinstance(layer, Residual):
            branch = _settled(layer.layers, normalisation, ends=True, given_up=at_end and given_up)
            settled.append(Residual(branch, linear=layer.linear or at_end))
        elif isinstance(layer, Parallel):
            branches = [
                _settled(branch, normalisation, ends=at_end, given_up=at_end and given_up) for branch in layer.branches
            ]
            settled.append(Parallel(branches))
        elif isinstance(layer, ConvLayer | DenseLayer | UpLayer):
            own = layer.normalisation
            if own is None and not layer.linear and not (at_end and given_up):
                own = normalisation
            settled.append(replace(layer, normalisation=own, linear=layer.linear or at_end))
        else:
            settled.append(layer)
    return tuple(settled)
