"""Rosenblatt's punch cards: marked on the left or on the right."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray


class PunchCards(NamedTuple):
    """Binary cards and the side of their marks: -1 left, +1 right."""

    cards: Float[Array, "n rows columns"]
    sides: Float[Array, " n"]


def punch_cards(samples: int, rows: int = 8, columns: int = 16, marks: int = 1, *, key: PRNGKeyArray) -> PunchCards:
    """Cards with `marks` distinct cells punched (1, others 0), all in the left or the right half, by a fair coin.

    The weights -1 on the left and +1 on the right separate them with margin √(marks²/(rows columns)), while
    ‖x‖² = marks: a perceptron makes at most rows columns / marks updates.

    >>> cards, sides = punch_cards(5, marks=3, key=jax.random.key(0))
    >>> cards.shape, cards.sum((1, 2)).tolist()
    ((5, 8, 16), [3.0, 3.0, 3.0, 3.0, 3.0])
    """
    if columns < 2 or columns % 2:
        raise ValueError(
            f"punch_cards got columns={columns}; a card needs an even number of columns, so that it has two halves."
        )
    if samples < 1 or rows < 1 or not 1 <= marks <= rows * columns // 2:
        raise ValueError(
            f"punch_cards got samples={samples}, rows={rows}, marks={marks}; it needs at least one of each "
            f"and at most rows*columns/2 = {rows * columns // 2} marks."
        )
    return _punch_cards(samples, rows, columns, marks, key)


@partial(jax.jit, static_argnums=(0, 1, 2, 3))
def _punch_cards(samples, rows, columns, marks, key) -> PunchCards:
    key_side, key_cells = jax.random.split(key)
    sides = jax.random.rademacher(key_side, (samples,), float)
    half = rows * columns // 2
    # The cells with the smallest of independent uniforms are a uniform subset of that size.
    ranks = jnp.argsort(jnp.argsort(jax.random.uniform(key_cells, (samples, half)), axis=1), axis=1)
    punched = (ranks < marks).astype(float).reshape(samples, rows, columns // 2)
    blank = jnp.zeros_like(punched)
    left, right = jnp.concatenate([punched, blank], 2), jnp.concatenate([blank, punched], 2)
    return PunchCards(jnp.where(sides[:, None, None] < 0, left, right), sides)
