"""Do scores and rankings hold on a second test set? Kendall's τ and the drop, with bootstrap intervals over items."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from leadline._checks import require_counts
from leadline.data import generator
from leadline.learning.classification.metrics import Interval


class Replication(NamedTuple):
    """Accuracies of the models on both test sets, the agreement of their rankings, and the mean drop."""

    old: Float[np.ndarray, " models"]
    new: Float[np.ndarray, " models"]
    tau: Interval
    drop: Interval  # the mean over models of old − new


def replicate(
    old_right: Bool[Array | np.ndarray, "_ _"],
    new_right: Bool[Array | np.ndarray, "_ _"],
    *,
    level: float = 0.95,
    resamples: int = 500,
    key: PRNGKeyArray,
) -> Replication:
    """Kendall's τ between the accuracies on two disjoint test sets, a row for each model, a column for each item.

    Items of both sets are drawn anew with replacement; all models see the same ones, since they err on the same items.
    The ends of the intervals are percentiles (Efron). Resampling makes rankings noisier than they are, so that the
    interval of τ lies low.

    >>> import jax
    >>> skill = np.arange(10)[:, None] > np.arange(40) % 12
    >>> found = replicate(skill, skill, key=jax.random.key(0))
    >>> round(found.tau.estimate, 9), found.drop.estimate
    (1.0, 0.0)
    """
    from scipy.stats import kendalltau

    old, new = np.asarray(old_right), np.asarray(new_right)
    if old.ndim != 2 or new.ndim != 2 or len(old) != len(new) or len(old) < 3 or 0 in (old.shape[1], new.shape[1]):
        raise ValueError(
            f"replicate got arrays of shapes {old.shape} and {new.shape}; give a row for each of at least 3 models and "
            "a column for each item."
        )
    if not 0 < level < 1:
        raise ValueError(f"replicate got level = {level}; it must lie strictly between 0 and 1.")
    require_counts("replicate", least=10, resamples=resamples)
    first, second = old.mean(axis=1), new.mean(axis=1)
    for which, scores in (("old", first), ("new", second)):
        if np.ptp(scores) == 0:
            raise ValueError(
                f"replicate got {len(scores)} models that all have the accuracy {scores[0]:.3g} on the {which} set, so "
                "that it ranks none of them; give models that differ."
            )
    rng = generator(key)
    drawn = []
    for _ in range(resamples):
        a = old[:, rng.integers(old.shape[1], size=old.shape[1])].mean(axis=1)
        b = new[:, rng.integers(new.shape[1], size=new.shape[1])].mean(axis=1)
        drawn.append((kendalltau(a, b).statistic, (a - b).mean()))
    ends = np.nanquantile(drawn, [(1 - level) / 2, (1 + level) / 2], axis=0)  # (2 ends, tau and drop)
    return Replication(
        first,
        second,
        Interval(float(kendalltau(first, second).statistic), *map(float, ends[:, 0])),
        Interval(float((first - second).mean()), *map(float, ends[:, 1])),
    )
