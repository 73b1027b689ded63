"""Kernels of all pairs of inputs, in tiles that stay in the cache and only on one side of the diagonal."""

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from .layers.layer import Covariance, Form, Layer

_TILE_ENTRIES = 500 * 500  # of all positions together; sides of 512 would share their places in the cache
_WHOLE_ENTRIES = 1200 * 1200  # up to here tiles gain less than they cost


def over_tiles(network: Layer, form: Form, tangent: bool, x1: Array, x2: Array | None) -> Covariance:
    """All layers on one tile of pairs after the other; what concerns single inputs is computed once."""
    first = one_side(network, form, x1)
    second = first if x2 is None else one_side(network, form, x2)
    other = x1 if x2 is None else x2
    places = math.prod(form.positions) ** (2 if form.full else 1)
    side = int(math.sqrt(_TILE_ENTRIES / places))
    if len(x1) * len(other) * places <= _WHOLE_ENTRIES or side < 1:
        start = input_covariance(form, x1, other, tangent)
        if x2 is None and not form.positions:  # an input's correlation with itself is 1, whatever the rounding
            equal = jnp.eye(len(x1), dtype=bool)
            start = start._replace(nngp=jnp.where(equal, input_variance(form, x1), start.nngp))
            found = network.pair(form, start, first, second)
            return jax.tree.map(lambda k: (k + k.T) / 2, found)  # rounding is not symmetric
        return network.pair(form, start, first, second)
    own = own_kernels(network, form, tangent, x1, first) if x2 is None and not form.positions else None

    def block(i: Any, j: Any, rows: int, columns: int) -> Covariance:
        one, two = cut(first, i, rows), cut(second, j, columns)
        xi, zj = (jax.lax.dynamic_slice_in_dim(x, s, t) for x, s, t in ((x1, i, rows), (other, j, columns)))
        found = network.pair(form, input_covariance(form, xi, zj, tangent), one, two)
        if own is None:
            return found
        equal = (i + jnp.arange(rows))[:, None] == (j + jnp.arange(columns))[None, :]
        mine = cut(own, i, rows)
        return jax.tree.map(lambda k, d: jnp.where(equal, d[:, None], k), found, mine)

    after = network.form(form)
    between = len(after.positions) if isinstance(after, Form) and after.full else 0
    return fill(block, len(x1), len(other), side, side, x2 is None, between)


def fill(
    block: Callable[..., Covariance], m: int, n: int, rows: int, columns: int, symmetric: bool, between: int = 0
) -> Covariance:
    """The (m, n) matrices from blocks of rows x columns; of a symmetric matrix only those that reach the diagonal.

    `between` is the number of position axes if covariances are kept between all positions, which mirroring exchanges.
    The last block of a row or column begins earlier rather than be smaller, so that all have the same shape.
    """
    rows, columns = min(rows, m), min(columns, n)
    corners = [
        (i, j)
        for i in np.minimum(np.arange(0, m, rows), m - rows)
        for j in np.minimum(np.arange(0, n, columns), n - columns)
        if not symmetric or j + columns > i
    ]

    def step(out: Covariance, corner: Array) -> tuple[Covariance, None]:
        i, j = corner[0], corner[1]
        found = block(i, j, rows, columns)

        def put(whole: Array, part: Array) -> Array:
            whole = jax.lax.dynamic_update_slice(whole, part, (0,) * (whole.ndim - 2) + (i, j))
            if symmetric:
                mirrored = _mirror(part, between)
                whole = jax.lax.dynamic_update_slice(whole, mirrored, (0,) * (whole.ndim - 2) + (j, i))
            return whole

        return jax.tree.map(put, out, found), None

    shape = jax.eval_shape(lambda: block(0, 0, rows, columns))
    empty = jax.tree.map(lambda k: jnp.zeros((*k.shape[:-2], m, n), k.dtype), shape)
    return jax.lax.scan(step, empty, jnp.asarray(np.array(corners)))[0]


def _mirror(k: Array, between: int) -> Array:
    """The covariances with the two inputs, and so their positions, exchanged."""
    k = jnp.moveaxis(k, tuple(range(between)), tuple(range(between, 2 * between))) if between else k
    return jnp.swapaxes(k, -1, -2)


def cut(notes: Any, start: Any, size: int) -> Any:
    """The notes on inputs start, ..., start + size - 1."""
    return jax.tree.map(lambda a: jax.lax.dynamic_slice_in_dim(a, start, size, a.ndim - 1), notes)


def one_side(network: Layer, form: Form, x: Array) -> Any:
    """The notes of all layers on single inputs."""
    return network.side(form, input_variance(form, x))[1]


def input_variance(form: Form, x: Array) -> Array:
    d = x.shape[-1]
    if form.variances_full and form.positions:
        flat = x.reshape(len(x), -1, d)
        return jnp.einsum("nsc,ntc->stn", flat, flat).reshape(*form.positions, *form.positions, len(x)) / d
    return jnp.moveaxis(jnp.sum(x * x, axis=-1), 0, -1) / d


def own_kernels(network: Layer, form: Form, tangent: bool, x: Array, notes: Any) -> Covariance:
    """The kernels of every input with itself, free of the rounding of matrix products."""
    q = input_variance(form, x)[:, None, None]
    notes = jax.tree.map(lambda a: a[..., None], notes)
    found = network.pair(form, Covariance(q, jnp.zeros_like(q) if tangent else None), notes, notes)
    return jax.tree.map(lambda k: k[:, 0, 0], found)


def input_covariance(form: Form, x1: Array, x2: Array, tangent: bool) -> Covariance:
    """The mean of x z over channels for all pairs, at equal positions or between all, and a tangent kernel of 0."""
    d = x1.shape[-1]
    if not form.positions:
        nngp = x1 @ x2.T / d
    else:
        one, two = (jnp.moveaxis(x.reshape(len(x), -1, d), 0, 1) for x in (x1, x2))  # (positions, n, d)
        if form.full:
            nngp = jnp.einsum("smc,tnc->stmn", one, two).reshape(*form.positions, *form.positions, len(x1), len(x2)) / d
        else:
            nngp = jnp.einsum("smc,snc->smn", one, two).reshape(*form.positions, len(x1), len(x2)) / d
    return Covariance(nngp, jnp.zeros_like(nngp) if tangent else None)
