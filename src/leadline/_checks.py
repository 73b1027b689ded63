"""What a function asks of its arrays, said where it is not so: the one checker for all packages."""

from typing import Any

import jax
import numpy as np
from jax.core import Tracer


def require(function: str, *, axes: int | None = None, **arrays: Any) -> None:
    """ValueError where an array has another number of `axes`, no elements, or NaN among them.

    Values that JAX is tracing have shapes alone, so that of them only these are looked at.

    >>> require("brier_score", axes=2, probabilities=np.ones(3))
    Traceback (most recent call last):
    ValueError: brier_score got probabilities of shape (3,); give an array with 2 axes.
    >>> require("hoeffding_bound", widths=np.array([1.0, np.nan]))
    Traceback (most recent call last):
    ValueError: hoeffding_bound got widths with NaN at 1 of 2 places; remove or repair these.
    """
    require_axes(function, axes, **arrays)
    require_numbers(function, **arrays)


def require_axes(function: str, axes: int | None, **arrays: Any) -> None:
    """The part of `require` that looks at shapes: for functions that carry NaN on, such as those of each row.

    >>> require_axes("runner_up_margin", 1, labels=np.zeros((0,), int))
    Traceback (most recent call last):
    ValueError: runner_up_margin got labels of shape (0,), which is empty; give at least one element.
    """
    for name, array in arrays.items():
        shape = np.shape(array)
        if axes is not None and len(shape) != axes:
            raise ValueError(
                f"{function} got {name} of shape {shape}; give an array with {axes} {'axis' if axes == 1 else 'axes'}."
            )
        if 0 in shape:
            raise ValueError(f"{function} got {name} of shape {shape}, which is empty; give at least one element.")


def require_numbers(function: str, **trees: Any) -> None:
    """ValueError where an array, or an array of a tree, has NaN among its values; shapes are not asked about.

    >>> require_numbers("descend", start={"weights": np.array([np.nan, 0.0]), "shift": np.zeros(0)})
    Traceback (most recent call last):
    ValueError: descend got start with NaN at 1 of 2 places; remove or repair these.
    """
    for name, tree in trees.items():
        values = [leaf for leaf in jax.tree.leaves(tree) if _holds_fractions(leaf)]
        bad = sum(int(np.count_nonzero(np.isnan(np.asarray(leaf)))) for leaf in values)
        if bad:
            places = sum(np.size(leaf) for leaf in values)
            raise ValueError(f"{function} got {name} with NaN at {bad} of {places} places; remove or repair these.")


def _holds_fractions(leaf: Any) -> bool:
    """Whether the leaf has values that can be NaN and that are known already."""
    if isinstance(leaf, Tracer) or not isinstance(leaf, float | complex | np.generic | np.ndarray | jax.Array):
        return False
    return jax.numpy.issubdtype(getattr(leaf, "dtype", type(leaf)), np.inexact)


def require_counts(function: str, *, least: int = 1, **counts: Any) -> None:
    """ValueError where a count, or one of an array of counts, is below `least`.

    >>> require_counts("interval_training", batch=0)
    Traceback (most recent call last):
    ValueError: interval_training got batch = 0; give at least 1.
    """
    for name, count in counts.items():
        if not isinstance(count, Tracer) and np.any(np.asarray(count) < least):
            raise ValueError(f"{function} got {name} = {np.min(count)}; give at least {least}.")


def require_rows(function: str, **arrays: Any) -> None:
    """ValueError where arrays have no first axis, no rows, or not the same number of rows.

    >>> require_rows("attack_losses", outputs=np.ones((3, 2)), labels=np.zeros(2, int))
    Traceback (most recent call last):
    ValueError: attack_losses got outputs (3, 2), labels (2,); give arrays with the same number of rows, at least one.
    """
    shapes = {name: np.shape(array) for name, array in arrays.items()}
    rows = {shape[:1] for shape in shapes.values()}
    if len(rows) > 1 or rows & {(), (0,)}:
        seen = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise ValueError(f"{function} got {seen}; give arrays with the same number of rows, at least one.")
