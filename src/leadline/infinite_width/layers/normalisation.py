"""Layer normalisation at infinite width."""

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from .layer import Covariance, Form, Layer, Needs, between_positions, position_diagonal, spread


@dataclass(frozen=True)
class LayerNorm(Layer):
    """(z - mean)/√(variance + ε) over the units (or channels, at every position) of an affine layer.

    In the limit the mean is 0 and the variance K(x, x): K ↦ K/√((K(x,x) + ε)(K(z,z) + ε)), and Θ alike. With
    `affine`, gains (first 1) and offsets (first 0) are trained too, and Θ gains the new K, and 1.
    """

    epsilon: float = 1e-12
    affine: bool = False

    def form(self, form: Form) -> Form:
        if not form.gaussian:
            raise ValueError(
                "LayerNorm follows something other than an affine layer, whose mean over units is not 0; put it "
                "directly after a Dense or Conv layer or a sum of these."
            )
        return form

    def needs(self, after: Needs) -> Needs:
        return Needs(after.full, max(after.variances, 1))

    def side(self, form: Form, variance: Array | None) -> tuple[Array | None, Any]:
        assert variance is not None  # `needs` asks for it
        scale = 1 / jnp.sqrt(position_diagonal(form, variance) + self.epsilon)
        if not form.variances_full:
            return variance * scale * scale, scale
        one, two = (between_positions(form, scale, side, 1) for side in (0, 1))
        return variance * one * two, scale

    def pair(self, form: Form, covariance: Covariance, first: Any, second: Any) -> Covariance:
        scale = spread(form, first, 0) * spread(form, second, 1)
        nngp, ntk = covariance.nngp * scale, covariance.ntk
        if ntk is not None:
            ntk = ntk * scale + (nngp + 1 if self.affine else 0)
        return Covariance(nngp, ntk)

    def init(self, key: PRNGKeyArray, shape: tuple[int, ...], dtype: Any = None) -> Any:
        return (jnp.ones(shape[-1], dtype), jnp.zeros(shape[-1], dtype)) if self.affine else ()

    def apply(self, params: Any, x: Float[Array, "n ..."]) -> Float[Array, "n ..."]:
        centred = x - jnp.mean(x, axis=-1, keepdims=True)
        y = centred / jnp.sqrt(jnp.mean(centred**2, axis=-1, keepdims=True) + self.epsilon)
        return params[0] * y + params[1] if self.affine else y
