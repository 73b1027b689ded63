"""The fully connected network with dropout and a normalisation: one of its layers has a mode."""

from collections.abc import Sequence
from typing import Any, Literal

import equinox as eqx
import jax
from jaxtyping import Array, Float, PRNGKeyArray

from leadline.networks import MLP, activation as activation_called

from .dropout import Dropout
from .normalisation import Normalisation, normalisation as normalisation_called
from .running_statistics import require_statistics

Order = Literal["before", "after"]


class RegularisedMLP(eqx.Module):
    """x₀ = D₀ x, x_l = D_l φ(N_l(W_l x_{l-1} + b_l)) for l = 1..L-1, and W_L x_{L-1} + b_L: dropout D, normalisation N.

    `widths` and the options of the layers are those of `networks.MLP`, whose layers these are. `dropout` is the rate
    of the hidden units, or one rate a layer of which the first is for the inputs. The `normalisation` ("batch",
    "layer", "rms" or "group") is `before` the activation, as written, or `after` it.

    A call is one example's, in Equinox's convention, net(x, state, key=key) -> (output, state), inside
    `jax.vmap(net, axis_name="batch", in_axes=(0, None, 0), out_axes=(0, None))`; `training.fit` does this by
    `ModalObjective`. `eqx.nn.inference_mode(net)` is the network in use, which needs no key.

    >>> import jax.numpy as jnp
    >>> net, state = eqx.nn.make_with_state(RegularisedMLP)(
    ...     (4, 16, 3), dropout=0.5, normalisation="batch", key=jax.random.key(0)
    ... )
    >>> run = jax.vmap(lambda x, s, k: net(x, s, key=k), axis_name="batch", in_axes=(0, None, 0), out_axes=(0, None))
    >>> outputs, state = run(jnp.ones((5, 4)), state, jax.random.split(jax.random.key(1), 5))
    >>> outputs.shape
    (5, 3)
    """

    dense: MLP
    normalisations: tuple[Any, ...]
    dropouts: tuple[Dropout, ...]
    order: Order = eqx.field(static=True)

    def __init__(
        self,
        widths: Sequence[int],
        activation: str = "relu",
        *,
        dropout: float | Sequence[float] = 0.0,
        normalisation: Normalisation | None = None,
        order: Order = "before",
        groups: int = 8,
        init: str = "he",
        gain: float = 1.0,
        bias: bool = True,
        parametrisation: Literal["standard", "ntk", "mean-field"] = "standard",
        dtype: jax.typing.DTypeLike | None = None,
        key: PRNGKeyArray,
    ):
        if order not in ("before", "after"):
            raise ValueError(f"RegularisedMLP got order {order!r}; put the normalisation 'before' or 'after' φ.")
        self.dense = MLP(
            widths, activation, init=init, gain=gain, bias=bias, parametrisation=parametrisation, dtype=dtype, key=key
        )
        self.dropouts = tuple(Dropout(p) for p in _rates(dropout, len(widths) - 1))
        self.order = order
        self.normalisations = tuple(
            normalisation_called(normalisation, width, groups=groups, spatial=False, dtype=dtype)
            for width in widths[1:-1]
            if normalisation is not None
        )

    @property
    def widths(self) -> tuple[int, ...]:
        """(N₀, ..., N_L), from the shapes of the weights."""
        return self.dense.widths

    def __call__(
        self, x: Float[Array, "..."], state: eqx.nn.State, *, key: PRNGKeyArray | None = None
    ) -> tuple[Float[Array, " out"], eqx.nn.State]:
        require_statistics(self, state)
        phi = activation_called(self.dense.activation)
        keys = [None] * len(self.dropouts) if key is None else jax.random.split(key, len(self.dropouts))
        hidden = self.dropouts[0](x.ravel(), key=keys[0])
        *inner, (weight, bias) = self.dense.affine()
        for index, (w, b) in enumerate(inner):
            hidden = w @ hidden if b is None else w @ hidden + b
            hidden = hidden if self.order == "before" else phi(hidden)
            hidden, state = self._normalised(index, hidden, state)
            hidden = phi(hidden) if self.order == "before" else hidden
            hidden = self.dropouts[index + 1](hidden, key=keys[index + 1])
        return (weight @ hidden if bias is None else weight @ hidden + bias), state

    def _normalised(self, index: int, hidden: Array, state: eqx.nn.State) -> tuple[Array, eqx.nn.State]:
        if not self.normalisations:
            return hidden, state
        layer = self.normalisations[index]
        return layer(hidden, state) if isinstance(layer, eqx.nn.BatchNorm) else (layer(hidden), state)


def _rates(dropout: float | Sequence[float], layers: int) -> tuple[float, ...]:
    """One rate for the inputs of each layer."""
    if not isinstance(dropout, Sequence):
        return (0.0, *[dropout] * (layers - 1))
    if len(dropout) != layers:
        raise ValueError(
            f"RegularisedMLP got {len(dropout)} dropout rates for {layers} layers; give one rate for the hidden units, "
            "or one a layer, the first for the inputs."
        )
    return tuple(dropout)
