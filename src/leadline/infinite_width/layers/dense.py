"""The fully connected layer, in both parametrisations."""

from dataclasses import dataclass
from typing import Any, Literal

import jax
from jaxtyping import Array, Float, PRNGKeyArray

from .layer import Covariance, Form, Layer, normal


@dataclass(frozen=True)
class Dense(Layer):
    """z = W x + b over the channels, with n = fan-in, s = `W_std`, t = `b_std` (None: no bias).

    NTK parametrisation: z = (s/√n) W x + t b, all parameters N(0, 1):
    K ↦ s² K + t²,  Θ ↦ s² Θ + s² K + t². Jacot et al. 2018.
    Standard parametrisation: W ~ N(0, s²/n), b ~ N(0, t²), and gradients are taken in W and b themselves:
    K as before, Θ ↦ s² Θ + n K + 1, the 1 from the bias (without bias none). Θ grows with the width; n is the actual
    width of the layer before, and for deep networks the formula is exact up to terms that the width divides.
    Sohl-Dickstein et al. 2020.

    >>> import jax.numpy as jnp
    >>> Dense(1, W_std=2.0).kernel_fn(jnp.ones((1, 4)), get=("nngp", "ntk"))
    (Array([[4.]], dtype=...), Array([[4.]], dtype=...))
    """

    width: int | None = None
    W_std: float = 1.0
    b_std: float | None = 0.0
    parametrisation: Literal["ntk", "standard"] = "ntk"

    def __post_init__(self):
        if self.parametrisation not in ("ntk", "standard"):
            raise ValueError(
                f"{type(self).__name__} got parametrisation {self.parametrisation!r}; choose 'ntk' or 'standard'."
            )

    def form(self, form: Form) -> Form:
        fan_in_known(self, form.width)
        return form.affine(self.width)

    def side(self, form: Form, variance: Array | None) -> tuple[Array | None, Any]:
        return (None if variance is None else affine_nngp(self, variance)), ()

    def pair(self, form: Form, covariance: Covariance, first: Any, second: Any) -> Covariance:
        return affine_kernels(self, covariance, form.width)

    def output_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return (*shape[:-1], finite_width(self))

    def init(self, key: PRNGKeyArray, shape: tuple[int, ...], dtype: Any = None) -> Any:
        return affine_parameters(self, key, (shape[-1], finite_width(self)), shape[-1], dtype)

    def apply(self, params: Any, x: Float[Array, "n ..."]) -> Float[Array, "n ..."]:
        return affine_output(self, x @ params[0], params, x.shape[-1])


def affine_nngp(layer: Any, nngp: Array) -> Array:
    """s² K + t², whatever the shape."""
    nngp = nngp if layer.W_std == 1 else layer.W_std**2 * nngp
    return nngp if not layer.b_std else nngp + layer.b_std**2


def affine_kernels(layer: Any, covariance: Covariance, fan_in: int | None) -> Covariance:
    """Both kernels after an affine layer with weights shared as in Dense or, over a window, in Conv."""
    nngp, ntk = affine_nngp(layer, covariance.nngp), covariance.ntk
    if ntk is None:
        return Covariance(nngp, None)
    passed = ntk if layer.W_std == 1 else layer.W_std**2 * ntk
    if layer.parametrisation == "ntk":
        return Covariance(nngp, passed + nngp)
    assert fan_in is not None  # see fan_in_known
    own = fan_in * covariance.nngp
    return Covariance(nngp, passed + own + (0.0 if layer.b_std is None else 1.0))


def fan_in_known(layer: Any, width: int | None) -> None:
    if layer.parametrisation == "standard" and width is None:
        raise ValueError(
            f"The tangent kernel of {type(layer).__name__} in the standard parametrisation grows with the width of the "
            "layer before it, which is not given; give every layer its width."
        )


def finite_width(layer: Any) -> int:
    if layer.width is None:
        raise ValueError(f"A finite network needs widths; write {type(layer).__name__}(width, ...).")
    return layer.width


def affine_parameters(layer: Any, key: PRNGKeyArray, shape: tuple[int, ...], fan_in: int, dtype: Any) -> Any:
    """Weights and biases (None if there are none), standard normal, or with the layer's own spread if `standard`."""
    key_weight, key_bias = jax.random.split(key)
    weight = normal(key_weight, shape, dtype)
    bias = None if layer.b_std is None else normal(key_bias, shape[-1:], dtype)
    if layer.parametrisation == "ntk":
        return weight, bias
    return weight * (layer.W_std / fan_in**0.5), bias if bias is None or layer.b_std is None else layer.b_std * bias


def affine_output(layer: Any, product: Array, params: Any, fan_in: int) -> Array:
    """The layer's output from the product of its input with the raw weights."""
    bias = params[1]
    if layer.parametrisation == "ntk":
        product = product * (layer.W_std / fan_in**0.5)
        bias = None if bias is None else layer.b_std * bias
    return product if bias is None else product + bias
