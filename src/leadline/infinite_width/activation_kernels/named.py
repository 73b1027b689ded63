"""Activations by the names that `networks.activation` knows them by."""

from ..layers.layer import Layer
from .error_function import Erf, Gelu
from .hermite import Elementwise, Sigmoid, Silu, Softplus, Tanh
from .rectified import Abs, Heaviside, LeakyRelu, Relu
from .trigonometric import Sin


def activation_layer(name: str | Layer) -> Layer:
    """The layer of that name, or the layer itself.

    >>> activation_layer("relu").how()
    'closed form'
    """
    if isinstance(name, Layer):
        return name
    from leadline.networks import gelu_tanh

    from ..layers.combinators import Identity

    named = {
        "identity": Identity,
        "relu": Relu,
        "leaky_relu": LeakyRelu,
        "absolute": Abs,
        "heaviside": Heaviside,
        "heaviside_closed": Heaviside,
        "erf": Erf,
        "gelu": Gelu,
        "tanh": Tanh,
        "sigmoid": Sigmoid,
        "swish": Silu,
        "softplus": Softplus,
        "sin": Sin,
        "gelu_tanh": lambda: Elementwise(gelu_tanh),
    }
    if name not in named:
        raise ValueError(f"There is no wide layer for the activation {name!r}; choose one of {', '.join(named)}.")
    return named[name]()
