"""What a function asks of its arrays, said where it is not so: the one checker for all packages."""

from typing import Any

import jax
import numpy as np


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
    for name, array in arrays.items():
        shape = np.shape(array)
        if axes is not None and len(shape) != axes:
            raise ValueError(
                f"{function} got {name} of shape {shape}; give an array with {axes} {'axis' if axes == 1 else 'axes'}."
            )
        if 0 in shape:
            raise ValueError(f"{function} got {name} of shape {shape}, which is empty; give at least one element.")
        if isinstance(array, jax.core.Tracer):
            continue
        values = np.asarray(array)
        bad = np.count_nonzero(np.isnan(values)) if values.dtype.kind in "fc" else 0
        if bad:
            raise ValueError(
                f"{function} got {name} with NaN at {bad} of {values.size} places; remove or repair these."
            )
