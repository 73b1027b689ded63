"""Bagging: any learner fitted to resamples of the rows, averaged, and judged on the rows that were left out."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray, Shaped

from leadline._checks import require_counts, require_rows
from leadline.data import generator

from .resamples import bootstrap_rows, left_out_mean

Inputs = Shaped[Array | np.ndarray, "_ ..."]
Predict = Callable[[Any], Any]  # inputs (m, ...) -> predictions (m, ...)


class Committee(NamedTuple):
    """Fitted predictors and the training rows that each was fitted to."""

    members: tuple[Predict, ...]
    rows: Int[np.ndarray, "members k"]

    def predictions(self, x: Inputs) -> Float[np.ndarray, "members m ..."]:
        """What every member says."""
        return np.stack([np.asarray(member(x), float) for member in self.members])

    def __call__(self, x: Inputs) -> Float[np.ndarray, "m ..."]:
        """The mean of what the members say: for squared loss, and for probabilities of classes."""
        return self.predictions(x).mean(axis=0)

    def out_of_bag(self, x: Inputs) -> Float[np.ndarray, "n ..."]:
        """For each training row the mean of the members that were fitted without it; NaN where there is none."""
        return left_out_mean(self.predictions(x), self.rows)


def bag(
    fit: Callable[[Any, Any, np.random.Generator], Predict],
    x: Inputs,
    y: Shaped[Array | np.ndarray, "_ ..."],
    *,
    members: int = 25,
    rows: Int[np.ndarray, "members k"] | None = None,
    key: PRNGKeyArray,
) -> Committee:
    """A committee of predictors fit(x, y, rng), each of a bootstrap resample of the rows (Breiman 1996).

    `fit` returns a function of inputs; `rng` is for learners that are random themselves. Averaging takes away
    variance and leaves the bias, so that it helps learners which small changes of the data upset (trees, polynomials
    of high degree, networks: `deep_ensemble`) and does nothing for linear ones. `rows` are resamples of your own.

    >>> import jax
    >>> def line(x, y, rng):
    ...     fitted = np.polynomial.Polynomial.fit(x, y, 1)
    ...     return fitted
    >>> x = np.linspace(0, 1, 30)
    >>> found = bag(line, x, 2 * x, members=5, key=jax.random.key(0))
    >>> found(np.array([0.5])).round(6).tolist(), found.out_of_bag(x).shape
    ([1.0], (30,))
    """
    require_rows("bag", x=x, y=y)
    x, y = np.asarray(x), np.asarray(y)
    if rows is None:
        require_counts("bag", members=members)
        rows = bootstrap_rows(len(x), members, key=key)
    rng = generator(key)
    own = rng.spawn(len(rows))
    return Committee(tuple(fit(x[r], y[r], g) for r, g in zip(rows, own, strict=True)), np.asarray(rows))


def committee_of(ensemble: Any) -> Committee:
    """The trees of a fitted forest or bag of scikit-learn's as a committee that predicts probabilities, or values.

    It must know its resamples (`estimators_samples_`), which RandomForest* and Bagging* do where `bootstrap` is on.

    >>> from sklearn.ensemble import RandomForestRegressor
    >>> x = np.linspace(0, 1, 50)[:, None]
    >>> forest = RandomForestRegressor(10, random_state=0).fit(x, x[:, 0] ** 2)
    >>> bool(np.allclose(committee_of(forest)(x), forest.predict(x)))
    True
    """
    if not hasattr(ensemble, "estimators_samples_"):
        raise ValueError(
            f"committee_of got a {type(ensemble).__name__} without estimators_samples_; give a fitted forest or bag of "
            "scikit-learn's."
        )
    members = tuple(getattr(tree, "predict_proba", tree.predict) for tree in ensemble.estimators_)
    return Committee(members, np.stack([np.asarray(rows) for rows in ensemble.estimators_samples_]))
