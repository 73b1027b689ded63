"""What every activation has: two Gaussian expectations of a pair, split into what one input and what the pair needs."""

from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..layers.layer import Covariance, Form, Layer, Needs, between_positions, position_diagonal, spread


@dataclass(frozen=True)
class ActivationLayer(Layer):
    """φ entry by entry. With (u, v) Gaussian of covariance k and variances q₁, q₂:

    K ↦ E φ(u) φ(v),  Θ ↦ Θ E φ'(u) φ'(v).
    """

    def function(self, z: Array) -> Array:
        """φ itself."""
        raise NotImplementedError

    def odd(self) -> bool:
        """Whether φ(-z) = -φ(z), so that the units' mean stays 0."""
        with jax.ensure_compile_time_eval():
            z = jnp.asarray(np.linspace(0.05, 9.0, 32))
            return np.array_equal(np.asarray(self.function(z)), -np.asarray(self.function(-z)))

    def notes(self, q: Array) -> Any:
        """What pairs need to know of a variance q: arrays whose last axes are those of q."""
        raise NotImplementedError

    def moment(self, q: Array) -> Array:
        """E φ(√q Z)²."""
        raise NotImplementedError

    def dual(self, k: Array, first: Any, second: Any, slopes: bool) -> tuple[Array, Array | None]:
        """E φ(u) φ(v) and, if `slopes`, E φ'(u) φ'(v), from k and notes that broadcast against it."""
        raise NotImplementedError

    def form(self, form: Form) -> Form:
        if not form.gaussian:
            raise ValueError(
                f"{type(self).__name__} follows something other than an affine layer, so its inputs are not Gaussian "
                "in the limit; put a Dense or Conv layer before it."
            )
        return replace(form, gaussian=False, centred=self.odd())

    def needs(self, after: Needs) -> Needs:
        return Needs(after.full, max(after.variances, 1))

    def side(self, form: Form, variance: Array | None) -> tuple[Array | None, Any]:
        assert variance is not None  # `needs` asks for it
        q = position_diagonal(form, variance)
        notes = self.notes(q)
        if not form.variances_full or not form.positions:
            return self.moment(q), notes
        one, two = (jax.tree.map(lambda a, s=s: between_positions(form, a, s, 1), notes) for s in (0, 1))
        return self.dual(variance, one, two, False)[0], notes

    def pair(self, form: Form, covariance: Covariance, first: Any, second: Any) -> Covariance:
        first = jax.tree.map(lambda a: spread(form, a, 0), first)
        second = jax.tree.map(lambda a: spread(form, a, 1), second)
        nngp, slopes = self.dual(covariance.nngp, first, second, covariance.ntk is not None)
        return Covariance(nngp, None if covariance.ntk is None or slopes is None else covariance.ntk * slopes)

    def apply(self, params: Any, x: Float[Array, "n ..."]) -> Float[Array, "n ..."]:
        return self.function(x)


@jax.custom_jvp
def root(q: Array) -> Array:
    """√q, with slope 0 at 0."""
    return jnp.sqrt(q)


@root.defjvp
def _root_jvp(primals, tangents):
    (q,), (dq,) = primals, tangents
    s = jnp.sqrt(q)
    return s, jnp.where(q > 0, 0.5 / jnp.where(q > 0, s, 1), 0) * dq


def inverse_root(q: Array) -> Array:
    """1/√q, and 0 at 0, with slope 0 there."""
    return jnp.where(q > 0, 1 / jnp.sqrt(jnp.where(q > 0, q, 1)), 0)
