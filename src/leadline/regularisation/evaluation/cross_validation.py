"""k-fold cross-validation: everything that is fitted is fitted inside the fold, and the error bars know it."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray, Shaped

from leadline._checks import require_counts, require_rows
from leadline.data import generator
from leadline.learning.risk.distributions import Loss, pointwise_loss

FitPredict = Callable[..., Any]  # (training inputs, training targets, inputs) ↦ predictions
Column = Shaped[Array | np.ndarray, " _"]


class CrossValidation(NamedTuple):
    """The mean loss of each fold, a row for each repetition, and the sizes of a fold's two parts."""

    scores: Float[np.ndarray, "repeats k"]
    train_size: float
    test_size: float

    @property
    def mean(self) -> float:
        """The estimate of the risk of what is learned from `train_size` rows."""
        return float(self.scores.mean())

    @property
    def spread(self) -> float:
        """Standard deviation of the estimate over repetitions: what the choice of the folds alone contributes."""
        if len(self.scores) < 2:
            raise ValueError(
                "The spread over repetitions needs at least 2 of them; call cross_validate with repeats=2."
            )
        return float(self.scores.mean(axis=1).std(ddof=1))

    @property
    def naive_error(self) -> float:
        """sd/√J of J scores, too small: the folds share their training rows."""
        return float(self.scores.std(ddof=1) / np.sqrt(self.scores.size))

    @property
    def corrected_error(self) -> float:
        """sd·√(1/J + n_test/n_train) of J scores (Nadeau and Bengio 2003, Bouckaert and Frank 2004)."""
        return float(self.scores.std(ddof=1) * np.sqrt(1 / self.scores.size + self.test_size / self.train_size))

    def interval(self, level: float = 0.95, *, corrected: bool = True) -> tuple[float, float]:
        """mean ± t_{J−1} times the corrected error, or for comparison the naive one."""
        from scipy.special import stdtrit

        error = self.corrected_error if corrected else self.naive_error
        half = float(stdtrit(self.scores.size - 1, 0.5 + level / 2)) * error
        return self.mean - half, self.mean + half


def cross_validate(
    fit_predict: FitPredict,
    x: Shaped[Array | np.ndarray, "_ ..."],
    y: Shaped[Array | np.ndarray, "_ ..."],
    k: int = 5,
    *,
    repeats: int = 1,
    loss: Loss = "squared",
    stratified: bool = False,
    groups: Column | None = None,
    key: PRNGKeyArray,
) -> CrossValidation:
    """k models, each fitted on (k − 1)/k of the rows and scored on the rest, for each of `repeats` divisions.

    `fit_predict(x_train, y_train, x)` gives predictions for x and sees no other row, so that scaling, selection and
    tuning belong inside it: done before, on all rows, they let the scored rows in. `stratified` divides each class of
    y evenly, `groups` keeps the rows of a group together, k = n leaves one out. scikit-learn makes the folds.

    >>> import jax
    >>> mean_of_targets = lambda x, y, new: np.full(len(new), y.mean())
    >>> found = cross_validate(mean_of_targets, np.zeros((4, 1)), np.array([0.0, 0, 1, 1]), 4, key=jax.random.key(0))
    >>> round(found.mean, 4), found.train_size, found.test_size
    (0.4444, 3.0, 1.0)
    """
    require_rows("cross_validate", x=x, y=y, **({} if groups is None else {"groups": groups}))
    require_counts("cross_validate", repeats=repeats)
    pointwise = pointwise_loss(loss)
    scores, sizes = [], []
    for train, test in k_folds(np.asarray(y), k, repeats, stratified=stratified, groups=groups, key=key):
        predicted = np.asarray(fit_predict(x[train], y[train], x[test]))
        losses = np.asarray(pointwise(predicted, np.asarray(y[test])), float)
        if len(predicted) != len(test) or not np.isfinite(losses).all():
            raise ValueError(
                f"cross_validate got predictions of shape {predicted.shape} for {len(test)} rows, or a loss that is no "
                "finite number; fit_predict must give one finite prediction a row."
            )
        scores.append(losses.mean())
        sizes.append((len(train), len(test)))
    train_size, test_size = np.mean(sizes, axis=0)
    return CrossValidation(np.reshape(scores, (repeats, -1)), float(train_size), float(test_size))


def k_folds(
    y: Shaped[np.ndarray, "n ..."],
    k: int,
    repeats: int = 1,
    *,
    stratified: bool = False,
    groups: Column | None = None,
    key: PRNGKeyArray,
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """(training rows, scored rows) of each fold: each row is scored once in each repetition.

    >>> import jax
    >>> folds = list(k_folds(np.array([0, 1, 0, 1]), 2, stratified=True, key=jax.random.key(0)))
    >>> [len(test) for _, test in folds]
    [2, 2]
    """
    from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold

    y = np.asarray(y)
    if not 2 <= k <= len(y):
        raise ValueError(f"k-fold cross-validation got k = {k} for {len(y)} rows; give 2 to {len(y)}.")
    if stratified:
        _require_classes(y, k)
    if groups is not None:
        groups = np.asarray(groups)
        if len(np.unique(groups)) < k:
            raise ValueError(
                f"k-fold cross-validation got {len(np.unique(groups))} groups for k = {k}; give a smaller k."
            )
        kind = StratifiedGroupKFold if stratified else GroupKFold
    else:
        kind = StratifiedKFold if stratified else KFold
    rng = generator(key)
    for _ in range(repeats):
        folds = kind(n_splits=k, shuffle=True, random_state=int(rng.integers(2**31)))
        yield from folds.split(np.zeros(len(y)), y, groups)


def _require_classes(y: np.ndarray, k: int) -> None:
    names, counts = np.unique(y, return_counts=True)
    if len(names) < 2:
        raise ValueError(f"Stratified folds got one class, {names[0]}; give labels of at least two.")
    if len(y) < k * len(names) or counts.min() < k:
        raise ValueError(
            f"Stratified folds got {len(y)} rows, {counts.min()} of class {names[counts.argmin()]}, for k = {k} and "
            f"{len(names)} classes; give at least k rows of each class, or a smaller k."
        )
