"""Networks by name, for images of a given shape."""

import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from leadline import convolution, networks, regularisation, sequences
from leadline.frameworks.with_state import WithState

from .settings import Conv, Dense, Linear, Mlp, ModelSettings, Recurrent, Residual

_TYPE = jnp.float32  # of all parameters, whatever JAX's default


def build_model(settings: ModelSettings, shape: tuple[int, ...], classes: int, *, key: PRNGKeyArray) -> eqx.Module:
    """The network that maps one image of this shape to one score for each class, with 32-bit parameters.

    One with modes (dropout, normalisation) comes with its state, `WithState`.

    >>> import jax
    >>> net = build_model(Mlp(hidden=(16,)), (8, 8), 10, key=jax.random.key(0))
    >>> net.widths
    (64, 16, 10)
    """
    return MODELS[type(settings)](settings, shape, classes, key)


def _mlp(s: Mlp, shape: tuple[int, ...], classes: int, key: PRNGKeyArray) -> eqx.Module:
    widths = (math.prod(shape), *s.hidden, classes)
    layers: dict[str, Any] = {
        "init": s.init,
        "gain": s.gain,
        "bias": s.bias,
        "parametrisation": s.parametrisation,
        "dtype": _TYPE,
    }
    if not s.has_modes:
        return networks.MLP(widths, s.activation, **layers, key=key)
    made = eqx.nn.make_with_state(regularisation.RegularisedMLP)(
        widths,
        s.activation,
        dropout=(s.input_dropout, *[s.dropout] * len(s.hidden)),
        **layers | {"normalisation": None if s.normalisation == "none" else s.normalisation, "order": s.normalise},
        key=key,
    )
    return WithState(*made)


def _linear(s: Linear, shape: tuple[int, ...], classes: int, key: PRNGKeyArray) -> eqx.Module:
    return networks.MLP((math.prod(shape), classes), init=s.init, bias=s.bias, dtype=_TYPE, key=key)


def _residual(s: Residual, shape: tuple[int, ...], classes: int, key: PRNGKeyArray) -> eqx.Module:
    size = (math.prod(shape), s.width, s.depth, classes)
    return networks.ResidualNetwork(*size, s.activation, init=s.init, dtype=_TYPE, key=key)


def _dense(s: Dense, shape: tuple[int, ...], classes: int, key: PRNGKeyArray) -> eqx.Module:
    size = (math.prod(shape), s.growth, s.depth, classes)
    return networks.DenseNetwork(*size, s.activation, init=s.init, dtype=_TYPE, key=key)


def conv_layers(s: Conv, classes: int) -> list[Any]:
    """The layers of a convolutional network of so many classes.

    >>> [type(layer).__name__ for layer in conv_layers(Conv(channels=(4,), head="max"), 10)]
    ['ConvLayer', 'PoolLayer', 'GlobalPool', 'DenseLayer']
    """
    layers: list[Any] = []
    for block in range(0, len(s.channels), s.block):
        layers += [
            convolution.ConvLayer(width, s.kernel, padding="same") for width in s.channels[block : block + s.block]
        ]
        layers += [convolution.PoolLayer(2)] + [convolution.DropoutLayer(s.dropout)] * bool(s.dropout)
    layers += [convolution.GlobalPool(s.head)] if s.head != "dense" else []
    layers += [each for width in s.hidden for each in _dense_with_dropout(width, s.dropout)]
    return [*layers, convolution.DenseLayer(classes)]


def _conv(s: Conv, shape: tuple[int, ...], classes: int, key: PRNGKeyArray) -> eqx.Module:
    height, width, *colours = shape
    normalisation: Any = None if s.normalisation == "none" else s.normalisation
    made, state = eqx.nn.make_with_state(convolution.ConvNetwork)(
        conv_layers(s, classes),
        (math.prod(colours), height, width),
        s.activation,
        normalisation=normalisation,
        init=s.init,
        channels_last=True,
        dtype=_TYPE,
        key=key,
    )
    return WithState(made, state) if s.has_modes else made


def _dense_with_dropout(width: int, dropout: float) -> list[Any]:
    return [convolution.DenseLayer(width)] + [convolution.DropoutLayer(dropout)] * bool(dropout)


def _recurrent(s: Recurrent, shape: tuple[int, ...], classes: int, key: PRNGKeyArray) -> eqx.Module:
    size = math.prod(shape[1 if s.steps == "rows" else 2 :])
    options: dict[str, Any] = {"depth": s.depth, "bidirectional": s.bidirectional, "reading": s.reading, "dtype": _TYPE}
    if s.cell == "lru":
        options |= {"r_min": 0.9, "r_max": 0.999}  # memories of ten to a thousand steps
    return sequences.sequence_network(s.cell, size, s.units, classes, **options, key=key)


#: How each kind of model is built from its settings.
MODELS: dict[type, Callable[..., eqx.Module]] = {
    Mlp: _mlp,
    Linear: _linear,
    Residual: _residual,
    Dense: _dense,
    Conv: _conv,
    Recurrent: _recurrent,
}
