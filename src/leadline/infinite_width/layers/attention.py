"""Self-attention with infinitely many heads, where it has a closed form. Hron et al. 2020."""

import math
from dataclasses import dataclass
from typing import Any, Literal

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from .layer import Covariance, Form, Layer, Needs, normal


@dataclass(frozen=True)
class Attention(Layer):
    """f(x)_a = Σ_s G_as(x) W_out W_value x_s + b over all positions s, from a (n, length, channels) or image batch.

    Two forms have a known limit, both in the NTK parametrisation, with v = (W_value_std W_out_std)² and
    p = W_query_std W_key_std:

    scaling="linear": logits q.k/d with tied query and key weights tend to p K(x, x), which is not random; G is their
    softmax over s (or the logits themselves if `mechanism` is "identity"), and
    K ↦ v G K G'ᵀ + b², Θ ↦ v G Θ G'ᵀ + 2 v G K G'ᵀ + b².

    scaling="square_root", mechanism="identity": G = q.k/√d stays random, and
    K_ab ↦ v p² K_ab Σ_st K_st² + b²,
    Θ_ab ↦ v p² (Θ_ab Σ K_st² + 2 K_ab Σ K_st Θ_st) + 4 v p² K_ab Σ K_st² + b².

    The usual softmax of q.k/√d has no closed form and is refused.
    """

    width: int | None = None
    heads: int = 8
    key_width: int = 64
    value_width: int = 64
    mechanism: Literal["softmax", "identity"] = "softmax"
    scaling: Literal["linear", "square_root"] = "linear"
    W_query_std: float = 1.0
    W_key_std: float = 1.0
    W_value_std: float = 1.0
    W_out_std: float = 1.0
    b_std: float | None = 0.0

    def __post_init__(self):
        if self.mechanism not in ("softmax", "identity") or self.scaling not in ("linear", "square_root"):
            raise ValueError(
                f"Attention got mechanism {self.mechanism!r} and scaling {self.scaling!r}; choose 'softmax' or "
                "'identity', and 'linear' or 'square_root'."
            )

    def form(self, form: Form) -> Form:
        if not form.positions:
            raise ValueError("Attention got vectors; it needs positions to attend to: (n, length, channels) or images.")
        if (self.mechanism, self.scaling) == ("softmax", "square_root"):
            raise ValueError(
                "Attention with softmax of q.k/√d has no closed form in the limit; choose scaling='linear' (q.k/d, "
                "tied weights) or mechanism='identity'."
            )
        return form.affine(self.width)

    def offsetwise(self) -> bool:
        return False

    def needs(self, after: Needs) -> Needs:
        return Needs(True, 2 if self.scaling == "linear" or after.variances else 0)

    def _weights(self, variance: Array, count: int) -> Array:
        """G of each input, (n, s, t), from its covariances between positions."""
        size = math.prod(variance.shape[:count])
        logits = self.W_query_std * self.W_key_std * jnp.moveaxis(variance, -1, 0).reshape(-1, size, size)
        return logits if self.mechanism == "identity" else jax.nn.softmax(logits, axis=-1)

    def _scale(self) -> float:
        return (self.W_value_std * self.W_out_std) ** 2

    def side(self, form: Form, variance: Array | None) -> tuple[Array | None, Any]:
        if variance is None:
            return None, ()
        k = jnp.moveaxis(variance, -1, 0)
        flat = k.reshape(len(k), math.prod(form.positions), -1)
        bias = (self.b_std or 0.0) ** 2
        if self.scaling == "linear":
            G = self._weights(variance, len(form.positions))
            after = self._scale() * G @ flat @ jnp.swapaxes(G, 1, 2) + bias
            return jnp.moveaxis(after.reshape(k.shape), 0, -1), jnp.moveaxis(G, 0, -1)
        energy = self._energy() * jnp.sum(flat * flat, axis=(1, 2), keepdims=True)
        return jnp.moveaxis((energy * flat + bias).reshape(k.shape), 0, -1), ()

    def _energy(self) -> float:
        return self._scale() * (self.W_query_std * self.W_key_std) ** 2

    def pair(self, form: Form, covariance: Covariance, first: Any, second: Any) -> Covariance:
        shape, size = covariance.nngp.shape, math.prod(form.positions)
        K, T = covariance.each(lambda k: k.reshape(size, size, *shape[-2:]))
        bias = (self.b_std or 0.0) ** 2
        if self.scaling == "linear":

            def weighed(k: Array) -> Array:
                return self._scale() * jnp.einsum("asm,stmn,btn->abmn", first, k, second)

            nngp = weighed(K)
            ntk = None if T is None else weighed(T) + 2 * nngp
        else:
            energy = self._energy() * jnp.sum(K * K, axis=(0, 1))
            nngp = energy * K
            ntk = None if T is None else energy * T + 2 * self._energy() * jnp.sum(K * T, (0, 1)) * K + 4 * nngp
        return Covariance(nngp, ntk).each(lambda k: (k + bias).reshape(shape))

    def output_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return (*shape[:-1], self._width())

    def _width(self) -> int:
        if self.width is None:
            raise ValueError("A finite network needs widths; write Attention(width, ...).")
        return self.width

    def init(self, key: PRNGKeyArray, shape: tuple[int, ...], dtype: Any = None) -> Any:
        keys = jax.random.split(key, 5)
        d, h = shape[-1], self.heads
        into_key = normal(keys[0], (h, d, self.key_width), dtype)
        query = None if self.scaling == "linear" else normal(keys[1], (h, d, self.key_width), dtype)
        value = normal(keys[2], (h, d, self.value_width), dtype)
        out = normal(keys[3], (h, self.value_width, self._width()), dtype)
        return query, into_key, value, out, None if self.b_std is None else normal(keys[4], (self._width(),), dtype)

    def apply(self, params: Any, x: Float[Array, "n ..."]) -> Float[Array, "n ..."]:
        query, into_key, value, out, bias = params
        d = x.shape[-1]
        flat = x.reshape(len(x), -1, d)
        keys = jnp.einsum("nsd,hdk->nhsk", flat, into_key)
        queries = keys if query is None else jnp.einsum("nsd,hdk->nhsk", flat, query)
        power = 1.0 if self.scaling == "linear" else 0.5
        logits = jnp.einsum("nhak,nhsk->nhas", queries, keys) / (d * self.key_width**power)
        logits = self.W_query_std * self.W_key_std * logits
        G = logits if self.mechanism == "identity" else jax.nn.softmax(logits, axis=-1)
        y = jnp.einsum("nhas,nsd,hdv,hvo->nao", G, flat, value, out)
        y = y * (self.W_value_std * self.W_out_std / math.sqrt(d * self.value_width * self.heads))
        y = y if bias is None else y + self.b_std * bias
        return y.reshape(*x.shape[:-1], -1)
