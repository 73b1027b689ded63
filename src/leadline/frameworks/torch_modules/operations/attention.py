"""Scaled dot-product attention, with masks, causality and shared heads."""

import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array

from .linear import same_precision


def _attention(
    query: Array,
    key: Array,
    value: Array,
    attn_mask: Array | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Array:
    """softmax(Q Kᵀ/√d + M) V over (..., heads, tokens, d); rows whose mask hides every token give 0."""
    query, key, value = same_precision(query, key, value)
    if enable_gqa:  # several heads of the query share one of keys and values
        shared = query.shape[-3] // key.shape[-3]
        key, value = (jnp.repeat(part, shared, axis=-3) for part in (key, value))
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = jnp.matmul(query * scale, jnp.swapaxes(key, -1, -2))  # (..., queries, keys)
    if is_causal:
        attn_mask = jnp.tri(*scores.shape[-2:], dtype=bool)
    if attn_mask is None:
        return jnp.matmul(jax.nn.softmax(scores, axis=-1), value)
    if attn_mask.dtype == bool:
        hidden = ~jnp.any(attn_mask, axis=-1, keepdims=True)
        scores = jnp.where(attn_mask | hidden, scores, -jnp.inf)
        weights = jnp.where(hidden, 0, jax.nn.softmax(scores, axis=-1))
    else:
        weights = jax.nn.softmax(scores + attn_mask, axis=-1)
    return jnp.matmul(weights.astype(value.dtype), value)


OPERATIONS: dict[str, Callable] = {"scaled_dot_product_attention": _attention}
