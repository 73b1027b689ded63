"""When early stopping stops: the rule of patience on a validation curve, and what it would have missed."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Real

from leadline._checks import require, require_counts


class StoppingPoint(NamedTuple):
    """Where a validation curve is left and which checkpoint is kept; both count checks from 0.

    `stop` is the last check that is made, `best` the one whose parameters are restored. `later` is the first check
    after the stop that is better than the best by more than min_delta, in a curve that goes on: a second descent.
    """

    stop: int
    best: int
    stopped_early: bool
    later: int | None


def stopping_point(
    losses: Real[Array | np.ndarray, " checks"], patience: int, *, min_delta: float = 0.0
) -> StoppingPoint:
    """Stop after `patience` checks in a row without a loss more than `min_delta` below the best; restore the best.

    `training.fit(patience=...)` does this while it trains; here it is done to a whole curve, so that one sees what
    the rule misses. The loss at the restored check is the least of several and so too good: report another set's.

    >>> stopping_point(np.array([3.0, 2.0, 2.5, 2.4, 1.0]), 2)
    StoppingPoint(stop=3, best=1, stopped_early=True, later=4)
    """
    require("stopping_point", axes=1, losses=losses)
    require_counts("stopping_point", patience=patience)
    if not min_delta >= 0:
        raise ValueError(f"stopping_point got min_delta = {min_delta:g}; give 0 or more.")
    losses = np.asarray(losses, float)
    best = 0
    for check, loss in enumerate(losses):
        if loss < losses[best] - min_delta:
            best = check
        elif check - best >= patience:
            better = np.flatnonzero(losses[check + 1 :] < losses[best] - min_delta)
            return StoppingPoint(check, best, True, check + 1 + int(better[0]) if better.size else None)
    return StoppingPoint(len(losses) - 1, best, False, None)
