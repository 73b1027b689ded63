"""What a user gave to compare regularisers on: rows of classes, checked, with the test rows under a seal."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from leadline.learning import SealedPart, stratified_split

MANY = 20  # numbers that are labels; more, in fewer than twice as many rows, are a quantity


class GivenRows(NamedTuple):
    """What a user gave, checked: classes, rows to train on with numbers for labels, test rows under a seal."""

    names: np.ndarray
    x: np.ndarray
    labels: np.ndarray
    test: SealedPart


def given_rows(
    x: Any, y: Any, test: Any, folds: int, seal: Callable[[Any, Any], SealedPart], key: PRNGKeyArray
) -> GivenRows:
    """The rows of a user, of which a fifth is set apart by class where there is no `test`; ValueError in a sentence.

    A target that is a number is refused: of more than 20 different numbers, more than one in two rows, too.

    >>> from leadline.regularisation.arms.regulariser_comparison import read_once
    >>> found = given_rows(np.ones((20, 1)), np.arange(20) % 2, None, 5, read_once, jax.random.key(0))
    >>> found.names.tolist(), found.x.shape
    ([0, 1], (16, 1))
    """
    x, y = _checked(x, y, "training")
    kinds = len(np.unique(y))
    if y.dtype.kind in "iuf" and kinds > MANY and 2 * kinds > len(y):
        raise _regression(f"{kinds} different numbers in {len(y)} rows")
    if test is None:
        split = stratified_split(y, (0.8, 0.0, 0.2), key=jax.random.fold_in(key, 0))
        test, x, y = (x[split.test], y[split.test]), x[split.train], y[split.train]
    names = np.unique(y)
    if len(names) < 2:
        raise ValueError(f"All rows are of one class, {names[0]}; a comparison of classifiers needs two or more.")
    if len(x) < folds * len(names):
        raise ValueError(
            f"There are {len(x)} rows to train on for {len(names)} classes and {folds} folds; give at least "
            f"{folds * len(names)}, or take fewer folds."
        )
    test_x, test_y = _checked(test[0], test[1], "test")
    if test_x.shape[1:] != x.shape[1:]:
        raise ValueError(f"Training rows have shape {x.shape[1:]} and test rows {test_x.shape[1:]}; give the same.")
    strange = np.setdiff1d(test_y, names)
    if strange.size:
        raise ValueError(f"The test rows have the class {strange[0]}, of which there is no training row; leave it out.")
    return GivenRows(names, x, np.searchsorted(names, y), seal(test_x, test_y))


def _checked(x: Any, y: Any, what: str) -> tuple[np.ndarray, np.ndarray]:
    """Inputs as 32-bit numbers and labels, after checks."""
    x, y = np.asarray(x), np.asarray(y)
    if x.ndim < 2 or y.ndim != 1 or len(x) != len(y) or not len(x):
        raise ValueError(
            f"The {what} data have inputs of shape {x.shape} and labels of shape {y.shape}; give one row of inputs and "
            "one label for each example."
        )
    if x.dtype.kind not in "biuf":
        raise ValueError(f"The {what} inputs have type {x.dtype}; convert them to numbers.")
    for part, name in ((x, "inputs"), (y, "label")):
        if part.dtype.kind == "f" and not np.isfinite(part).all():
            row = int(np.argwhere(~np.isfinite(part))[0][0])
            raise ValueError(f"The {what} {name} in row {row} are not finite numbers; remove or repair such rows.")
    if y.dtype.kind == "f" and (y != np.round(y)).any():
        raise _regression(f"numbers such as {y[y != np.round(y)][0]:g}")
    return x.astype(np.float32), y


def _regression(seen: str) -> ValueError:
    """What to say of a target that is a number."""
    return ValueError(
        f"The labels are {seen}, not classes; regularisers are compared for classifiers alone, so give classes, for "
        "instance whether the number is above its median."
    )
