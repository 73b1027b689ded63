"""Convolutions before global average pooling: all pairs of positions, one offset at a time.

A stride-1 convolution moves both positions of a covariance K[s, t] together and an activation acts on each entry alone:
covariances with offset t - s = d only ever meet those of the same d. So the whole network is run for one offset after
the other, on arrays of the size of one image per pair of inputs, which stay in the cache, and the results are added;
the covariances between all positions, 784² numbers for each pair of 28 x 28 images, never exist at once.
Offsets are counted around the edges: d runs over as many values as there are positions, and none is wasted.
"""

import math
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from ..pair_tiles import cut, fill, one_side
from .combinators import Serial
from .layer import Covariance, Form, Layer

_ROWS, _COLUMNS = 8, 32  # images per side of a tile: 784 * 256 entries are 0.8 MB in single precision


def over_offsets(
    head: Serial, tail: tuple[Layer, ...], form: Form, tangent: bool, x1: Array, x2: Array | None
) -> Covariance:
    """The kernels of head, global average pooling, tail; positions are 1- or 2-dimensional, and the tail is affine."""
    form = replace(form, full=False, variances_full=False)
    positions, count = form.positions, len(form.positions)
    first, second = one_side(head, form, x1), one_side(head, form, x1 if x2 is None else x2)
    image_1 = jnp.moveaxis(x1, 0, -1) / x1.shape[-1]  # (*positions, channels, n)
    image_2 = jnp.moveaxis(x1 if x2 is None else x2, 0, -1)
    twice, second_twice = _around(image_2, count, 2), jax.tree.map(lambda a: _around(a, count, 1), second)
    offsets = jnp.stack(jnp.meshgrid(*(jnp.arange(p) for p in positions), indexing="ij"), -1).reshape(-1, count)

    def block(i: Any, j: Any, rows: int, columns: int) -> Covariance:
        one, image_one = cut(first, i, rows), cut(image_1, i, rows)
        two, image_two = cut(second_twice, j, columns), cut(twice, j, columns)

        def add(total: Covariance, offset: Array) -> tuple[Covariance, None]:
            d = tuple(offset[axis] for axis in range(count))
            shifted = _window(image_two, d, positions, 2)
            nngp = jnp.sum(image_one[..., :, None] * shifted[..., None, :], axis=count)
            there = jax.tree.map(lambda a: _window(a, d, positions, 1), two)
            start = Covariance(nngp, jnp.zeros_like(nngp) if tangent else None)
            found = head.pair(replace(form, offset=d), start, one, there)
            return jax.tree.map(lambda t, k: t + jnp.sum(k, axis=tuple(range(count))), total, found), None

        zero = jnp.zeros((rows, columns), x1.dtype)
        total, _ = jax.lax.scan(add, Covariance(zero, zero if tangent else None), offsets)
        return jax.tree.map(lambda k: k / math.prod(positions) ** 2, total)

    columns = _COLUMNS if x2 is not None or len(x1) > 4 * _COLUMNS else _ROWS  # few images: less beyond the diagonal
    pooled = fill(block, x1.shape[0], image_2.shape[-1], _ROWS, columns, x2 is None)
    if not tail:
        return pooled
    after = replace(head.form(form), positions=())
    rest = Serial(tail)
    return rest.pair(after, pooled, rest.side(after, None)[1], rest.side(after, None)[1])


def _around(a: Array, count: int, last: int) -> Array:
    """(*more, *positions, *last axes) with every position axis repeated once, to be cut at any offset."""
    for axis in range(a.ndim - last - count, a.ndim - last):
        a = jnp.concatenate([a, a], axis=axis)
    return a


def _window(a: Array, offset: tuple[Array, ...], positions: tuple[int, ...], last: int) -> Array:
    start = a.ndim - last - len(positions)
    for axis, (d, size) in enumerate(zip(offset, positions, strict=True)):
        a = jax.lax.dynamic_slice_in_dim(a, d, size, start + axis)
    return a
