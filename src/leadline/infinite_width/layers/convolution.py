"""Convolutions of infinitely many channels, over one or two dimensions of positions."""

import math
from dataclasses import dataclass
from typing import Any, Literal

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from .dense import affine_kernels, affine_nngp, affine_output, affine_parameters, fan_in_known, finite_width
from .layer import Covariance, Form, Layer
from .windows import Padding, mean_over_offset_window, mean_over_windows, pads, window_positions


@dataclass(frozen=True)
class Conv(Layer):
    """A convolution with a filter of given shape, e.g. Conv(512, (3, 3)); (n, length, channels) takes a filter (3,).

    With A the mean over the filter's window of the covariance of positions shifted alike,
    (A K)[s, t] = mean_δ K[s + δ, t + δ] (0 outside the image, or its other side if `padding` is "CIRCULAR"):
    K ↦ W_std² A K + b_std², Θ ↦ W_std² A Θ + W_std² A K + b_std²; the standard parametrisation as in Dense, the
    fan-in being channels times window. Novak et al. 2019, Arora et al. 2019.
    """

    width: int | None = None
    filter_shape: tuple[int, ...] = (3, 3)
    strides: tuple[int, ...] | None = None
    padding: Padding = "SAME"
    W_std: float = 1.0
    b_std: float | None = 0.0
    parametrisation: Literal["ntk", "standard"] = "ntk"

    def __post_init__(self):
        if isinstance(self.padding, str) and self.padding not in ("SAME", "VALID", "CIRCULAR"):
            raise ValueError(
                f"Conv got padding {self.padding!r}; choose 'SAME', 'VALID', 'CIRCULAR' or a pair (before, after) for "
                "each dimension."
            )
        if self.strides is not None and len(self.strides) != len(self.filter_shape):
            raise ValueError(f"Conv got a filter {self.filter_shape} and strides {self.strides}; give as many of each.")
        if self.parametrisation not in ("ntk", "standard"):
            raise ValueError(f"Conv got parametrisation {self.parametrisation!r}; choose 'ntk' or 'standard'.")

    @property
    def steps(self) -> tuple[int, ...]:
        return self.strides or (1,) * len(self.filter_shape)

    def offsetwise(self) -> bool:
        return set(self.steps) == {1} and self.padding in ("SAME", "CIRCULAR")

    def form(self, form: Form) -> Form:
        _has_positions(self, len(form.positions))
        fan_in_known(self, form.width)
        return form.affine(self.width, window_positions(form.positions, self.filter_shape, self.steps, self.padding))

    def _mean(self, k: Array, full: bool) -> Array:
        return mean_over_windows(k, self.filter_shape, self.steps, self.padding, full)

    def side(self, form: Form, variance: Array | None) -> tuple[Array | None, Any]:
        return (None if variance is None else affine_nngp(self, self._mean(variance, form.variances_full))), ()

    def pair(self, form: Form, covariance: Covariance, first: Any, second: Any) -> Covariance:
        def mean(k: Array) -> Array:
            if form.offset is None:
                return self._mean(k, form.full)
            return mean_over_offset_window(k, self.filter_shape, form.offset, self.padding)

        fan_in = None if form.width is None else form.width * math.prod(self.filter_shape)
        return affine_kernels(self, covariance.each(mean), fan_in)

    def output_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        _has_positions(self, len(shape) - 1)
        positions = window_positions(shape[:-1], self.filter_shape, self.steps, self.padding)
        return (*positions, finite_width(self))

    def init(self, key: PRNGKeyArray, shape: tuple[int, ...], dtype: Any = None) -> Any:
        fan_in = shape[-1] * math.prod(self.filter_shape)
        return affine_parameters(self, key, (*self.filter_shape, shape[-1], finite_width(self)), fan_in, dtype)

    def apply(self, params: Any, x: Float[Array, "n ..."]) -> Float[Array, "n ..."]:
        lost = pads(x.shape[1:-1], self.filter_shape, self.steps, self.padding)
        if self.padding == "CIRCULAR":
            x, lost = jnp.pad(x, ((0, 0), *lost, (0, 0)), mode="wrap"), "VALID"
        letters = "HW"[: len(self.filter_shape)]
        numbers = (f"N{letters}C", f"{letters}IO", f"N{letters}C")
        product = jax.lax.conv_general_dilated(x, params[0], self.steps, lost, dimension_numbers=numbers)
        return affine_output(self, product, params, x.shape[-1] * math.prod(self.filter_shape))


def _has_positions(layer: Conv, count: int) -> None:
    if count != len(layer.filter_shape):
        raise ValueError(
            f"Conv got a filter of shape {layer.filter_shape} and inputs with {count} dimensions of positions; these "
            "numbers must agree: images are (n, height, width, channels), sequences (n, length, channels)."
        )
