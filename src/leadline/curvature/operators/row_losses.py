"""What a loss over rows must look like, as one number or as one loss per row, and the conventions of its mean."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
from jaxtyping import Array, Float, PyTree

from .streaming import StoredRows


def check_batch(batch: int | None) -> None:
    """Refuse a batch of no rows."""
    if batch is not None and batch < 1:
        raise ValueError(f"batch is {batch}; give a positive number of rows, or None for all at once.")


def scale_of(reduction: str, rows: int) -> float:
    """What the mean over rows is multiplied by."""
    if reduction not in ("mean", "sum"):
        raise ValueError(f"reduction is {reduction!r}; give 'mean' or 'sum'.")
    return 1.0 if reduction == "mean" else float(rows)


def batch_shapes(data: PyTree, rows: int) -> PyTree:
    """The shapes of the first `rows` rows of the data."""
    return jax.tree.map(
        lambda a: jax.ShapeDtypeStruct((rows, *a.shape[1:]), a.dtype),
        data,
        is_leaf=lambda leaf: isinstance(leaf, StoredRows),
    )


def check_loss(loss: Callable[..., Any], params: PyTree, data: tuple, rows: int, batch: int | None) -> None:
    """Refuse a loss that is neither one number nor one per row."""
    some = rows if batch is None else min(batch, rows)
    shape = getattr(eqx.filter_eval_shape(loss, params, *batch_shapes(data, some)), "shape", None)
    if shape not in ((), (some,)):
        raise ValueError(f"The loss has shape {shape} for {some} rows; give one number, or one loss per row.")


def row_losses(loss: Callable[..., Any], params: PyTree, rows: tuple) -> Float[Array, " n"]:
    """One loss per row: what `loss` gives, or, if it gives their mean, its values at one row after the other.

    >>> import jax.numpy as jnp
    >>> row_losses(lambda w, x: jnp.mean((w - x) ** 2), jnp.array(1.0), (jnp.array([1.0, 3.0]),)).tolist()
    [0.0, 4.0]
    """
    if eqx.filter_eval_shape(loss, params, *rows).ndim == 1:
        return loss(params, *rows)
    alone = jax.vmap(lambda *row: loss(params, *jax.tree.map(lambda a: a[None], row)))
    return alone(*rows)
