"""Networks from layers one after the other, and the layers that leave a signal as it is, or scale it."""

from dataclasses import dataclass
from typing import Any

import jax
from jaxtyping import Array, Float, PRNGKeyArray

from .layer import Covariance, Form, Layer


@dataclass(frozen=True)
class Serial(Layer):
    """Layers one after the other; see `serial`."""

    layers: tuple[Layer, ...]

    def forms(self, form: Any) -> list[Any]:
        """The forms before each layer and after the last."""
        found = [form]
        for layer in self.layers:
            found.append(layer.form(found[-1]))
        return found

    def form(self, form: Any) -> Any:
        return self.forms(form)[-1]

    def offsetwise(self) -> bool:
        return all(layer.offsetwise() for layer in self.layers)

    def needs(self, after: Any) -> Any:
        for layer in reversed(self.layers):
            after = layer.needs(after)
        return after

    def side(self, form: Any, variance: Any) -> tuple[Any, Any]:
        notes = []
        for layer, before in zip(self.layers, self.forms(form), strict=False):
            variance, note = layer.side(before, variance)
            notes.append(note)
        return variance, tuple(notes)

    def pair(self, form: Any, covariance: Any, first: Any, second: Any) -> Any:
        for layer, before, one, two in zip(self.layers, self.forms(form), first, second, strict=False):
            covariance = layer.pair(before, covariance, one, two)
        return covariance

    def output_shape(self, shape: Any) -> Any:
        for layer in self.layers:
            shape = layer.output_shape(shape)
        return shape

    def init(self, key: PRNGKeyArray, shape: Any, dtype: Any = None) -> Any:
        params = []
        for layer, key_layer in zip(self.layers, jax.random.split(key, len(self.layers)), strict=True):
            params.append(layer.init(key_layer, shape, dtype))
            shape = layer.output_shape(shape)
        return tuple(params)

    def apply(self, params: Any, x: Any) -> Any:
        for layer, param in zip(self.layers, params, strict=True):
            x = layer.apply(param, x)
        return x


def serial(*layers: Layer) -> Serial:
    """The network that applies the layers one after the other.

    >>> import jax.numpy as jnp
    >>> from leadline.infinite_width import Dense, Relu
    >>> net = serial(Dense(512), Relu(), Dense(1))
    >>> round(float(net.kernel_fn(jnp.eye(2), get="nngp")[0, 1]) * 4 * jnp.pi, 6)
    1.0
    """
    if not layers:
        raise ValueError("serial got no layers; give at least one.")
    return Serial(tuple(layers))


@dataclass(frozen=True)
class Identity(Layer):
    """x ↦ x, the straight branch of a residual block."""

    def form(self, form: Form) -> Form:
        return form

    def side(self, form: Form, variance: Array | None) -> tuple[Array | None, Any]:
        return variance, ()

    def pair(self, form: Form, covariance: Covariance, first: Any, second: Any) -> Covariance:
        return covariance

    def apply(self, params: Any, x: Float[Array, "n ..."]) -> Float[Array, "n ..."]:
        return x


@dataclass(frozen=True)
class Scale(Identity):
    """x ↦ a x."""

    factor: float = 1.0

    def side(self, form: Form, variance: Array | None) -> tuple[Array | None, Any]:
        return (None if variance is None else self.factor**2 * variance), ()

    def pair(self, form: Form, covariance: Covariance, first: Any, second: Any) -> Covariance:
        return covariance.each(lambda k: self.factor**2 * k)

    def apply(self, params: Any, x: Float[Array, "n ..."]) -> Float[Array, "n ..."]:
        return self.factor * x
