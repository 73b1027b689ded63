"""Rows for every seed: which are trained on, which are held out, and with which labels."""

from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Int, PRNGKeyArray

from leadline.data import generator
from leadline.learning import random_split, stratified_split


class SeededRows(NamedTuple):
    """The rows of each seed, first those that are trained on, then those held out, and their labels."""

    rows: Int[np.ndarray, "seeds n"]
    labels: Int[np.ndarray, "seeds n"]
    train: int  #: how many of them are trained on

    @property
    def held(self) -> int:
        """How many are held out."""
        return self.rows.shape[1] - self.train


def draw_rows(
    labels: Int[np.ndarray, " n"],
    classes: int,
    seeds: int,
    *,
    folds: int = 5,
    sizes: tuple[int, int] | None = None,
    random_labels: float = 0.0,
    key: PRNGKeyArray,
) -> SeededRows:
    """For each seed another split: one part in `folds` is held out, class by class, or `sizes` (train, held) at random.

    A share `random_labels` of all labels, of both parts, is drawn anew, uniformly over the classes.

    >>> drawn = draw_rows(np.arange(20) % 2, 2, 3, folds=5, key=jax.random.key(0))
    >>> drawn.rows.shape, drawn.train, drawn.held
    ((3, 20), 16, 4)
    """
    n = len(labels)
    if sizes is not None and (min(sizes) < 1 or sum(sizes) > n):
        raise ValueError(
            f"Of {n} rows {sizes[0]} were to be trained on and {sizes[1]} held out; give 1 or more of each."
        )
    rows, drawn = [], []
    for own in jax.random.split(key, seeds):
        splitting, relabelling = jax.random.split(own)
        if sizes is None:
            split = stratified_split(labels, (1 - 1 / folds, 1 / folds, 0.0), key=splitting)
        else:
            shares = (sizes[0] / n, sizes[1] / n, 1 - sum(sizes) / n)
            split = random_split(n, shares, key=splitting)
        chosen = np.concatenate([split.train, split.validation])
        rng = generator(relabelling)
        anew = rng.random(len(chosen)) < random_labels
        rows.append(chosen)
        drawn.append(np.where(anew, rng.integers(classes, size=len(chosen)), labels[chosen]))
    return SeededRows(np.stack(rows), np.stack(drawn), len(split.train))
