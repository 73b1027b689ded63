"""Has the distribution of the inputs changed? A classifier that tries to tell two samples apart answers."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Array, Float, Num, PRNGKeyArray

from leadline._checks import require_counts, require_numbers
from leadline.data import generator
from leadline.learning import area_under_curve

Inputs = Num[Array | np.ndarray, "_ ..."]


class ShiftTest(NamedTuple):
    """How well held-out rows of two samples are told apart, and how often chance alone does as well."""

    auc: float  # 0.5 where they cannot be told apart, 1 where they do not overlap
    p_value: float
    null: Float[np.ndarray, " permutations"]  # the same with the names of the samples permuted


def detect_shift(
    train: Inputs, test: Inputs, *, classifier: Any = None, permutations: int = 500, key: PRNGKeyArray
) -> ShiftTest:
    """A two-sample test by classification (Friedman 2003; Lopez-Paz and Oquab 2017), for inputs of any shape.

    A classifier learns on one half of the rows which sample a row is from; its scores on the other half have the area
    A under the curve. Where both samples have one distribution, the held-out rows may change names: the p-value
    (1 + #{A_b ≥ A})/(1 + B) over B permutations is then at most α with probability at most α, exactly. By default the
    classifier is logistic regression on the inputs and their squares, which sees means and variances; any classifier
    of scikit-learn may take its place.

    >>> import jax
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(200, 3))
    >>> found = detect_shift(x[:100], x[100:] + 1.0, key=jax.random.key(0))
    >>> found.auc > 0.85, found.p_value < 0.01
    (True, True)
    """
    from scipy.stats import rankdata
    from sklearn.base import clone

    require_counts("detect_shift", permutations=permutations)
    rows, is_test = two_samples("detect_shift", train, test, least=4)
    rng = generator(key)
    held = np.zeros(len(rows), bool)
    for part in (False, True):  # half of each sample
        members = np.flatnonzero(is_test == part)
        held[rng.permutation(members)[: len(members) // 2]] = True
    model = (discriminator() if classifier is None else clone(classifier)).fit(rows[~held], is_test[~held])
    scores, names = log_odds(model, rows[held]), is_test[held]
    auc, theirs = area_under_curve(names, scores), int(names.sum())
    shuffled = rng.permuted(np.tile(rankdata(scores), (permutations, 1)), axis=1)
    wins = shuffled[:, :theirs].sum(axis=1) - theirs * (theirs + 1) / 2  # the statistic of Mann and Whitney
    null = wins / (theirs * (len(names) - theirs))
    return ShiftTest(auc, float((1 + np.sum(null >= auc)) / (1 + permutations)), null)


def two_samples(function: str, train: Inputs, test: Inputs, *, least: int) -> tuple[np.ndarray, np.ndarray]:
    """Both samples in rows of numbers, and which rows are of the second; ValueError where they do not go together."""
    require_numbers(function, train=train, test=test)
    one, two = np.asarray(train, float), np.asarray(test, float)
    if not (np.isfinite(one).all() and np.isfinite(two).all()):
        raise ValueError(f"{function} got inputs that are infinite; remove or repair such rows.")
    if one.ndim == 0 or one.shape[1:] != two.shape[1:] or min(len(one), len(two)) < least:
        raise ValueError(
            f"{function} got train inputs {one.shape} and test inputs {two.shape}; give at least {least} rows of each, "
            "of one shape."
        )
    rows = np.concatenate([one.reshape(len(one), -1), two.reshape(len(two), -1)])
    return rows, np.repeat([False, True], [len(one), len(two)])


def discriminator() -> Any:
    """Logistic regression on standardised inputs and their squares, with a weak ridge."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, StandardScaler

    squares = FunctionTransformer(_with_squares)
    return make_pipeline(StandardScaler(), squares, StandardScaler(), LogisticRegression(max_iter=1000))


def log_odds(model: Any, rows: np.ndarray) -> np.ndarray:
    """log P(second sample)/P(first), as the classifier has it; bounded where its probabilities are 0 or 1."""
    if hasattr(model, "decision_function"):
        return model.decision_function(rows)
    chance = np.clip(model.predict_proba(rows)[:, 1], 1e-6, 1 - 1e-6)
    return np.log(chance) - np.log1p(-chance)


def _with_squares(x: np.ndarray) -> np.ndarray:
    return np.hstack([x, x**2])
