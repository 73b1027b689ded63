"""What rows must be for a study: numbers that are finite, labels that have a score, targets as many as outputs."""

import numpy as np

from leadline.evidence import BadInput

from .batches import GivenRows
from .positions import counting


def check_numbers(given: GivenRows, what: str) -> GivenRows:
    """The rows, after checks that each is a finite example; truth values and unsigned labels become integers."""
    x, y, mask = given.inputs, given.targets, given.mask
    if x.ndim < 2 or y.ndim == 0 or len(x) != len(y) or not len(x):
        raise BadInput(
            f"The {what} data have inputs of shape {x.shape} and targets of shape {y.shape}; give one row per example."
        )
    if mask is not None and (mask.ndim < 2 or mask.shape != y.shape[: mask.ndim] or mask.dtype.kind not in "biuf"):
        raise BadInput(
            f"The {what} data have targets of shape {y.shape} and a mask of shape {mask.shape}; give one truth value "
            "for each target."
        )
    for part, name in ((x, "input"), (y, "target")):
        if part.dtype.kind not in "biuf":
            raise BadInput(f"The {what} {name}s have type {part.dtype}; convert them to real numbers.")
        bad = ~np.isfinite(part) if part.dtype.kind == "f" else np.zeros(1, bool)
        if name == "target" and mask is not None and bad.any():
            bad &= mask.astype(bool).reshape(mask.shape + (1,) * (y.ndim - mask.ndim))
        if bad.any():
            row = int(np.argwhere(bad)[0][0])
            raise BadInput(f"The {what} {name} in row {row} is not a finite number; remove or repair such rows.")
    return given._replace(targets=y.astype(np.int64) if y.dtype.kind in "bu" else y)


def whole_labels(given: GivenRows) -> GivenRows:
    """The rows with targets that are whole numbers as integers."""
    y = given.targets
    whole = y.dtype.kind == "f" and (np.isfinite(y) & (y == np.round(y))).all()
    return given._replace(targets=y.astype(np.int64)) if whole else given


def check_labels(targets: np.ndarray, what: str, scores: int, loss: str) -> np.ndarray:
    """The labels of rows (n,), or those that count of sequences (n, T): each must have a score."""
    if targets.dtype.kind != "i" or targets.ndim > 2:
        raise BadInput(
            f"A classifier with the {loss} loss needs one integer label per row; the {what} targets have type "
            f"{targets.dtype} and shape {targets.shape}."
        )
    counts = np.ones(targets.shape, bool) if targets.ndim == 1 else counting(targets) | (targets < -1)
    found = np.unique(targets[counts])
    if len(found) > scores:
        raise BadInput(
            f"There are {len(found)} classes among the {what} labels and the network gives {scores} scores; give a "
            "network with one for each class, or leave rows out."
        )
    wrong = np.argwhere(counts & ((targets < 0) | (targets >= scores)))
    if wrong.size:
        place = tuple(wrong[0])
        raise BadInput(
            f"The {what} label in row {place[0]} is {targets[place]}; a network with {scores} scores needs labels 0 to "
            f"{scores - 1}."
        )
    return found


def real_targets(targets: np.ndarray, width: int, loss: str, dtype: np.dtype) -> np.ndarray:
    """Targets of regression, as (n, k) or, of sequences (n, T, k), as they are."""
    y = targets if targets.ndim == 3 else targets.reshape(len(targets), -1)
    if y.shape[-1] != width:
        raise BadInput(
            f"The network gives {width} {'number' if width == 1 else 'numbers'} per row and the targets have "
            f"{y.shape[-1]}; make them the same for the {loss} loss."
        )
    return y.astype(dtype)
