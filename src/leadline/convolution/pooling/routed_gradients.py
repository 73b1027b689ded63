"""How the gradient goes back through a maximum over windows, and how often the maximum is not the only one."""

from math import prod
from typing import Literal

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from ..algebra.layer_algorithms import windows
from .windows import pooled_side


def max_pool_gradient(
    x: Float[Array | np.ndarray, "height width"],
    upstream: Float[Array | np.ndarray, "rows columns"],
    window: int,
    stride: int | None = None,
    *,
    ties: Literal["first", "equal"] = "first",
) -> Float[Array, "height width"]:
    """∂L/∂x of y = max_pool(x): every ∂L/∂y goes to the maximiser of its window, and adds up where windows overlap.

    At a tie it goes to the "first" maximiser, row by row, as in `jax.lax.reduce_window` and PyTorch, or in "equal"
    shares to all of them, the mean of the subdifferential's corners, as in `max_pool`. The sum over x is that of
    `upstream` under either rule.

    >>> x = jnp.array([[1.0, 3.0], [3.0, 2.0]])
    >>> max_pool_gradient(x, jnp.ones((1, 1)), 2).tolist()
    [[0.0, 1.0], [0.0, 0.0]]
    >>> max_pool_gradient(x, jnp.ones((1, 1)), 2, ties="equal").tolist()
    [[0.0, 0.5], [0.5, 0.0]]
    """
    x, upstream = jnp.asarray(x), jnp.asarray(upstream)
    cells = window_cells(x.shape, window, stride)  # (rows, columns, r²)
    if upstream.shape != cells.shape[:2]:
        raise ValueError(
            f"The gradient by the pooled values has shape {upstream.shape}; {x.shape} pools to {cells.shape[:2]}."
        )
    values = x.ravel()[cells]
    best = values == values.max(axis=-1, keepdims=True)
    if ties == "first":
        share = (jnp.cumsum(best, axis=-1) == 1) & best
    elif ties == "equal":
        share = best / best.sum(axis=-1, keepdims=True)
    else:
        raise ValueError(f"ties is {ties!r}; give 'first' or 'equal'.")
    routed = (share * upstream[..., None]).astype(x.dtype)
    return jnp.zeros(x.size, x.dtype).at[cells].add(routed).reshape(x.shape)


def tied_windows(
    x: Float[Array | np.ndarray, "... height width"], window: int, stride: int | None = None
) -> Bool[np.ndarray, "... rows columns"]:
    """Which windows have more than one maximiser, as windows of zeros behind a ReLU have.

    >>> tied_windows(np.array([[0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 0.0]]), 2).tolist()
    [[True, False]]
    """
    x = np.asarray(x)
    cells = window_cells(x.shape[-2:], window, stride)
    values = x.reshape(*x.shape[:-2], -1)[..., cells]
    return (values == values.max(-1, keepdims=True)).sum(-1) > 1


def window_cells(
    shape: tuple[int, ...], window: int, stride: int | None = None
) -> Int[np.ndarray, "rows columns cells"]:
    """The flat indices of the cells of every window, row by row.

    >>> window_cells((2, 3), 2, 1)[0].tolist()
    [[0, 1, 3, 4], [1, 2, 4, 5]]
    """
    stride = window if stride is None else stride
    for side in shape:
        pooled_side(side, window, stride)
    cells = windows(np.arange(prod(shape)).reshape(1, *shape), (window, window), stride=stride)[0]
    return np.moveaxis(np.asarray(cells).reshape(window**2, *cells.shape[2:]), 0, -1)
