"""All prefix products of a sequence under an associative operation, in blocks: little to compile, twice the work."""

from collections.abc import Callable
from typing import TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree

Elements = TypeVar("Elements", bound=PyTree)
BLOCK = 32


def prefix_scan(
    combine: Callable[[Elements, Elements], Elements], elements: Elements, *, reverse: bool = False
) -> Elements:
    """e₁, e₁∘e₂, e₁∘e₂∘e₃, … of elements with a leading axis; combine(early, late) takes batches of them.

    The sequence is cut into blocks of 32. All blocks at once take their own prefixes step by step; their products are
    scanned in the same way; each block is then combined with the product of what lies before it. That is a depth of
    32 log₃₂ T for twice the work of a loop. `lax.associative_scan` has the depth 2 log₂ T, and is compiled level by
    level: a quarter of a minute for the Kalman filter of 100,000 observations. With `reverse` prefixes are taken from
    the end: … , e_{T−1}∘e_T, e_T, and combine still gets the earlier element first.

    >>> prefix_scan(lambda a, b: a + b, jnp.arange(5)).tolist()
    [0, 1, 3, 6, 10]
    >>> prefix_scan(lambda a, b: a + b, jnp.arange(5), reverse=True).tolist()
    [10, 10, 9, 7, 4]
    """
    if reverse:
        backwards = jax.tree.map(lambda leaf: leaf[::-1], elements)
        return jax.tree.map(lambda leaf: leaf[::-1], prefix_scan(lambda a, b: combine(b, a), backwards))
    length = len(jax.tree.leaves(elements)[0])
    if length <= BLOCK:
        return _steps(combine, elements)
    blocks = -(-length // BLOCK)

    def in_blocks(leaf: Array) -> Array:  # (position in the block, block, ...); what is filled in comes after all else
        filled = jnp.concatenate([leaf, jnp.repeat(leaf[-1:], blocks * BLOCK - length, 0)])
        return jnp.swapaxes(filled.reshape(blocks, BLOCK, *leaf.shape[1:]), 0, 1)

    inner = _steps(combine, jax.tree.map(in_blocks, elements))
    totals = prefix_scan(combine, jax.tree.map(lambda leaf: leaf[-1], inner))
    before = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf[:-1], (BLOCK, blocks - 1, *leaf.shape[1:])), totals)
    later = combine(before, jax.tree.map(lambda leaf: leaf[:, 1:], inner))
    whole = jax.tree.map(lambda first, rest: jnp.concatenate([first[:, :1], rest], 1), inner, later)
    return jax.tree.map(lambda leaf: jnp.swapaxes(leaf, 0, 1).reshape(blocks * BLOCK, *leaf.shape[2:])[:length], whole)


def _steps(combine: Callable[[Elements, Elements], Elements], elements: Elements) -> Elements:
    """Prefixes along the leading axis, one after the other."""
    first = jax.tree.map(lambda leaf: leaf[0], elements)
    rest = jax.tree.map(lambda leaf: leaf[1:], elements)

    def step(so_far: Elements, element: Elements) -> tuple[Elements, Elements]:
        product = combine(so_far, element)
        return product, product

    _, found = jax.lax.scan(step, first, rest)
    return jax.tree.map(lambda head, tail: jnp.concatenate([head[None], tail]), first, found)
