"""From many positions to fewer or none: flattening and pooling."""

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

import jax.numpy as jnp
from jaxtyping import Array, Float

from .layer import Covariance, Form, Layer, Needs, position_diagonal
from .windows import mean_over_windows, pool_both, window_positions


@dataclass(frozen=True)
class Flatten(Layer):
    """All positions and channels in one vector: kernels are averaged over equal positions."""

    def form(self, form: Form) -> Form:
        width = None if form.width is None else form.width * math.prod(form.positions)
        return replace(form, positions=(), width=width, full=False, variances_full=False)

    def offsetwise(self) -> bool:
        return False

    def needs(self, after: Needs) -> Needs:
        return Needs(False, min(after.variances, 1))

    def side(self, form: Form, variance: Array | None) -> tuple[Array | None, Any]:
        if variance is None or not form.positions:
            return variance, ()
        return jnp.mean(position_diagonal(form, variance), axis=tuple(range(len(form.positions)))), ()

    def pair(self, form: Form, covariance: Covariance, first: Any, second: Any) -> Covariance:
        count = len(form.positions)

        def mean(k: Array) -> Array:
            if not count:
                return k
            if form.full:
                k = jnp.moveaxis(k, (-2, -1), (0, 1))
                k = k.reshape(*k.shape[:2], math.prod(form.positions), -1)
                return jnp.trace(k, axis1=2, axis2=3) / k.shape[2]
            return jnp.mean(k, axis=tuple(range(count)))

        return covariance.each(mean)

    def output_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return (math.prod(shape),)

    def apply(self, params: Any, x: Float[Array, "n ..."]) -> Float[Array, "n ..."]:
        return x.reshape(len(x), -1)


@dataclass(frozen=True)
class GlobalAvgPool(Layer):
    """The mean over all positions: kernels are averaged over all pairs of positions."""

    def form(self, form: Form) -> Form:
        return replace(form, positions=(), full=False, variances_full=False)

    def offsetwise(self) -> bool:
        return False

    def needs(self, after: Needs) -> Needs:
        return Needs(True, 2 if after.variances else 0)

    def side(self, form: Form, variance: Array | None) -> tuple[Array | None, Any]:
        if variance is None or not form.positions:
            return variance, ()
        if not form.variances_full:
            return None, ()  # nobody asks: see `needs`
        return jnp.mean(variance, axis=tuple(range(2 * len(form.positions)))), ()

    def pair(self, form: Form, covariance: Covariance, first: Any, second: Any) -> Covariance:
        axes = tuple(range(2 * len(form.positions)))
        return covariance.each(lambda k: jnp.mean(k, axis=axes)) if axes else covariance

    def output_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return shape[-1:]

    def apply(self, params: Any, x: Float[Array, "n ..."]) -> Float[Array, "n ..."]:
        return jnp.mean(x, axis=tuple(range(1, x.ndim - 1)))


@dataclass(frozen=True)
class AvgPool(Layer):
    """Means over windows, e.g. AvgPool((2, 2)); strides are the window unless given.

    Padded positions count as 0 and in the mean. `total` makes sums of the means; see SumPool.
    """

    window_shape: tuple[int, ...]
    strides: tuple[int, ...] | None = None
    padding: Literal["SAME", "VALID", "CIRCULAR"] = "VALID"
    total: bool = False

    def _slide(self) -> tuple[tuple[int, ...], tuple[int, ...], str]:
        return self.window_shape, self.strides or self.window_shape, self.padding

    def _factor(self) -> float:
        return float(math.prod(self.window_shape)) if self.total else 1.0

    def form(self, form: Form) -> Form:
        if len(form.positions) != len(self.window_shape):
            raise ValueError(
                f"AvgPool got a window of shape {self.window_shape} and inputs with {len(form.positions)} dimensions "
                "of positions; these numbers must agree."
            )
        return replace(form, positions=window_positions(form.positions, *self._slide()))

    def offsetwise(self) -> bool:
        return False

    def needs(self, after: Needs) -> Needs:
        return Needs(True, 2 if after.variances else 0)

    def side(self, form: Form, variance: Array | None) -> tuple[Array | None, Any]:
        if variance is None or not form.variances_full:
            return None, ()
        return self._factor() ** 2 * pool_both(variance, *self._slide()), ()

    def pair(self, form: Form, covariance: Covariance, first: Any, second: Any) -> Covariance:
        return covariance.each(lambda k: self._factor() ** 2 * pool_both(k, *self._slide()))

    def output_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return (*window_positions(shape[:-1], *self._slide()), shape[-1])

    def apply(self, params: Any, x: Float[Array, "n ..."]) -> Float[Array, "n ..."]:
        first = jnp.moveaxis(x, 0, -1)  # positions first
        return self._factor() * jnp.moveaxis(mean_over_windows(first, *self._slide(), False), -1, 0)


def SumPool(
    window_shape: tuple[int, ...],
    strides: tuple[int, ...] | None = None,
    padding: Literal["SAME", "VALID", "CIRCULAR"] = "VALID",
) -> AvgPool:
    """Sums over windows."""
    return AvgPool(window_shape, strides, padding, True)
