"""Half-planes through the origin, exactly: all their training errors by one sort, for many data sets at once."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int, Num


class ArcErrors(NamedTuple):
    """Training errors of sgn cos(φ − θ) for θ in every arc between two events: the arcs' middles θ, and counts."""

    middles: Float[np.ndarray, "sets arcs"]
    errors: Int[np.ndarray, "sets arcs"]


def half_plane_errors(angles: Num[np.ndarray, "sets n"], labels: Num[np.ndarray, "sets n"]) -> ArcErrors:
    """How many of the points at these angles each half-plane {φ : cos(φ − θ) > 0} labels wrongly, for all θ.

    The count changes only where θ passes φᵢ ± π/2: 2n arcs, one sort.

    >>> found = half_plane_errors(np.array([[0.0, 2.0]]), np.array([[1, -1]]))
    >>> int(found.errors.min()), int(found.errors.max())
    (0, 2)
    """
    angles, labels = np.asarray(angles, float), np.asarray(labels).astype(np.int64)
    if angles.shape != labels.shape or not np.isin(labels, (-1, 1)).all():
        raise ValueError("half_plane_errors needs one label -1 or +1 for each angle; map 0/1 by y = 2t - 1.")
    events = np.mod(np.concatenate([angles - np.pi / 2, angles + np.pi / 2], axis=1), 2 * np.pi)
    changes = np.concatenate([-labels, labels], axis=1)
    order = np.argsort(events, axis=1)
    events, changes = np.take_along_axis(events, order, 1), np.take_along_axis(changes, order, 1)
    following = np.concatenate([events[:, 1:], events[:, :1] + 2 * np.pi], axis=1)
    middles = (events + following) / 2
    first = np.where(np.cos(angles - middles[:, :1]) > 0, 1, -1)
    start = (first != labels).sum(axis=1, keepdims=True)
    errors = start + np.concatenate([np.zeros_like(start), changes[:, 1:].cumsum(axis=1)], axis=1)
    return ArcErrors(middles, errors)


def best_half_plane(
    angles: Num[np.ndarray, "sets n"], labels: Num[np.ndarray, "sets n"]
) -> tuple[Float[np.ndarray, " sets"], Int[np.ndarray, " sets"]]:
    """The angle θ of a half-plane with the fewest training errors, the middle of the first such arc, and the errors.

    >>> theta, errors = best_half_plane(np.array([[0.1, 2.0, 4.0]]), np.array([[1, -1, -1]]))
    >>> int(errors[0])
    0
    """
    found = half_plane_errors(angles, labels)
    best = found.errors.argmin(axis=1)
    rows = np.arange(len(best))
    return found.middles[rows, best], found.errors[rows, best]
