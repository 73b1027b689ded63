"""Sequences: one target at every position of a row, some of which may not count, and the mean of their losses."""

import math
from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Num

from leadline.evidence import BadInput

NONE = (-1, -100)  # integer targets that are no label: ours, and PyTorch's ignore_index


class Positions(NamedTuple):
    """The shape of a row's positions, (T,) or (height, width), and whether scores stand before them in the outputs."""

    shape: tuple[int, ...]
    scores_first: bool

    @property
    def count(self) -> int:
        return math.prod(self.shape)


class PositionLoss(eqx.Module):
    """The mean of a loss over the positions of each row that count."""

    criterion: Callable

    def __call__(self, outputs: Float[Array, "n T k"], targets: Num[Array, "n T ..."]) -> Float[Array, " n"]:
        counts = counting(targets)
        safe = jnp.where(counts.reshape(counts.shape + (1,) * (targets.ndim - 2)), targets, 0)
        flat = (part.reshape(-1, *part.shape[2:]) for part in (outputs, safe))
        losses = self.criterion(*flat).reshape(counts.shape)
        return jnp.sum(jnp.where(counts, losses, 0), axis=1) / jnp.sum(counts, axis=1)


def counting(targets: Num[Array | np.ndarray, "n T ..."]) -> Bool[Array | np.ndarray, "n T"]:
    """Where a target counts: labels from 0, numbers that are not NaN.

    >>> counting(np.array([[2, 0, -1]])).tolist()
    [[True, True, False]]
    """
    if jnp.issubdtype(targets.dtype, jnp.integer):
        return targets >= 0
    flat = targets.reshape(*targets.shape[:2], -1)
    if isinstance(flat, Array):
        return ~jnp.isnan(flat).any(axis=2)
    return np.asarray(~np.isnan(flat).any(axis=2))


def found_positions(
    targets: np.ndarray, outputs: tuple[int, ...], mask: np.ndarray | None, what: str = "training"
) -> Positions | None:
    """The positions of a sequence, from the shapes of targets (n, ...) and of one row of outputs; None for other kinds.

    A sequence has integer targets (n, T) and outputs (T, k) or (k, T) with several scores, or a mask (n, T); T may be
    several axes, as for images with a label at each pixel.

    >>> found_positions(np.zeros((5, 7), int), (7, 3), None)
    Positions(shape=(7,), scores_first=False)
    >>> found_positions(np.zeros((5, 7)), (7, 3), None) is None
    True
    """
    labels = targets.dtype.kind in "iub"
    places = targets.shape[1:] if mask is None else mask.shape[1:]
    if mask is None and not (labels and targets.ndim > 1):
        return None
    last = len(outputs) == len(places) + 1 and outputs[:-1] == places
    first = len(outputs) == len(places) + 1 and outputs[1:] == places
    several = (last and outputs[-1] > 1, first and outputs[0] > 1)
    if labels and any(several):
        return Positions(places, not several[0])
    if mask is None:
        return None
    same = math.prod(outputs) == math.prod(targets.shape[1:])
    if not labels and same and (outputs == places or last):
        return Positions(places, False)
    raise BadInput(
        f"The {what} data have targets of shape {targets.shape[1:]} and a mask of shape {mask.shape[1:]} for each row, "
        f"and the network gives outputs of shape {outputs}; a mask needs outputs {(*places, 'k')} at its positions."
    )


def at_positions(targets: np.ndarray, mask: np.ndarray | None, where: Positions, what: str) -> np.ndarray:
    """Targets (n, T) or (n, T, k) with -1 or NaN where the mask says that there is none."""
    labels = targets.dtype.kind in "iub"
    rows = targets.reshape(len(targets), where.count, *(() if labels else (-1,)))
    rows = rows.astype(np.int64 if labels else float)
    if labels:
        rows = np.where(np.isin(rows, NONE), -1, rows)
    if mask is not None:
        counts = mask.reshape(len(mask), where.count).astype(bool)
        rows = np.where(counts if labels else counts[..., None], rows, -1 if labels else np.nan)
    lacking = np.flatnonzero(~counting(rows).any(axis=1))
    if lacking.size:
        raise BadInput(f"The {what} row {lacking[0]} has no target that counts; leave such rows out.")
    return rows
