"""Fully connected networks in one line."""

from typing import Literal

from ..activation_kernels.named import activation_layer
from .combinators import Serial, serial
from .dense import Dense
from .layer import Layer
from .pooling import Flatten


def dense_stack(
    hidden_layers: int,
    activation: str | Layer = "relu",
    W_std: float = 1.0,
    b_std: float | None = 0.0,
    *,
    first_W_std: float | None = None,
    last_W_std: float | None = None,
    last_b_std: float | Literal["same"] | None = "same",
    width: int | None = 512,
    outputs: int = 1,
    parametrisation: Literal["ntk", "standard"] = "ntk",
) -> Serial:
    """`hidden_layers` times Dense and the activation, then Dense: the wide multilayer perceptron.

    K⁰ = W_std² x.z/d + b_std², K^(l+1) = W_std² E φφ + b_std²; the first and last layer take `first_W_std` and
    `last_W_std`, `last_b_std` where these are given (first_W_std = √d makes K⁰ = x.z + b_std²). Images are flattened.

    >>> import jax.numpy as jnp
    >>> net = dense_stack(1, "relu", W_std=2**0.5, first_W_std=2**0.5)
    >>> net.kernel_fn(jnp.eye(2)).diagonal().round(6).tolist()
    [2.0, 2.0]
    """
    if hidden_layers < 0:
        raise ValueError(f"dense_stack got {hidden_layers} hidden layers; give 0 or more.")
    layers: list[Layer] = [Flatten()]
    for index in range(hidden_layers):
        gain = first_W_std if index == 0 and first_W_std is not None else W_std
        layers += [Dense(width, gain, b_std, parametrisation), activation_layer(activation)]
    gain = W_std if last_W_std is None else last_W_std
    if hidden_layers == 0 and last_W_std is None and first_W_std is not None:
        gain = first_W_std
    bias = b_std if last_b_std == "same" else last_b_std
    return serial(*layers, Dense(outputs, gain, bias, parametrisation))
