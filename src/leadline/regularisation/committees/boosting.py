"""AdaBoost: weak learners added one by one, by coordinate descent on the exponential loss."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Array, Float, Real, Shaped

from leadline._checks import require_counts, require_rows

Inputs = Shaped[Array | np.ndarray, "_ ..."]
Decide = Callable[[Any], Any]  # inputs (m, ...) -> signs −1 and 1


class Boosted(NamedTuple):
    """F(x) = Σ aₜhₜ(x), whose sign is the decision."""

    learners: tuple[Decide, ...]
    weights: Float[np.ndarray, " rounds"]  #: aₜ; infinite for a learner without an error
    errors: Float[np.ndarray, " rounds"]  #: eₜ, under the weights of the rows in round t
    reason: str  #: why it ended: "all rounds", "no error" or "no better than chance"
    refused: float | None  #: the weighted error of the learner that was no better than chance

    def decisions(self, x: Inputs) -> Float[np.ndarray, "rounds m"]:
        """hₜ(x) of every learner, −1 or 1."""
        if not self.learners:
            return np.zeros((0, len(x)))
        return np.stack([_signs(learner(x), len(x)) for learner in self.learners])

    def scores(self, x: Inputs) -> Float[np.ndarray, "rounds m"]:
        """F after 1, 2, ... rounds."""
        return np.cumsum(self.weights[:, None] * self.decisions(x), axis=0)

    def __call__(self, x: Inputs) -> Float[np.ndarray, " m"]:
        """F of all rounds; 0 everywhere where there is none."""
        return self.scores(x)[-1] if self.learners else np.zeros(len(x))

    @property
    def loss_bounds(self) -> Float[np.ndarray, " rounds"]:
        """Π 2√(eₛ(1 − eₛ)) over s ≤ t: the mean exponential loss of the training rows after t rounds."""
        return np.cumprod(2 * np.sqrt(self.errors * (1 - self.errors)))

    @property
    def edge_bounds(self) -> Float[np.ndarray, " rounds"]:
        """exp(−2 Σ gₛ²) over s ≤ t with the edges g = 1/2 − e; not below `loss_bounds`."""
        return np.exp(-2 * np.cumsum((0.5 - self.errors) ** 2))


def adaboost(
    fit: Callable[[Any, Any, Any], Decide], x: Inputs, y: Real[Array | np.ndarray, " n"], *, rounds: int = 50
) -> Boosted:
    """AdaBoost (Freund and Schapire 1997) with a weak learner fit(x, y, weights) for labels −1 and 1.

    Round t weighs row i by wᵢ ∝ e^{−yᵢF(xᵢ)}, fits a learner with the weighted error eₜ and gives it the weight
    aₜ = ½ ln((1 − eₜ)/eₜ), the exact line search on the mean of e^{−yF(x)} (Friedman, Hastie and Tibshirani 2000). It
    ends before `rounds` where a learner has no error, whose weight is infinite, or is no better than chance.

    >>> x = np.arange(6.0)[:, None]
    >>> y = np.array([1, 1, -1, -1, 1, 1])
    >>> found = adaboost(stump(), x, y, rounds=3)
    >>> found.errors.round(4).tolist(), (np.sign(found(x)) == y).tolist()
    ([0.3333, 0.25, 0.1667], [True, True, True, True, True, True])
    """
    require_rows("adaboost", x=x, y=y)
    require_counts("adaboost", rounds=rounds)
    x, y = np.asarray(x), np.asarray(y, float)
    if not np.isin(y, (-1, 1)).all():
        raise ValueError(f"adaboost got the labels {np.unique(y)[:5].tolist()}; give −1 and 1.")
    learners, weights, errors = [], [], []
    reason, refused, score = "all rounds", None, np.zeros(len(y))
    for _ in range(rounds):
        row = np.exp(score.min() - score)  # of y F, shifted so that the largest weight is 1
        row /= row.sum()
        learner = fit(x, y, row)
        right = _signs(learner(x), len(y)) * y
        error = float(row[right < 0].sum())
        if error >= 0.5 * (1 - 1e-12):  # chance, up to rounding of the sum
            reason, refused = "no better than chance", error
            break
        learners.append(learner)
        errors.append(error)
        weights.append(0.5 * np.log((1 - error) / error) if error else np.inf)
        if error == 0:
            reason = "no error"
            break
        score = score + weights[-1] * right
    return Boosted(tuple(learners), np.array(weights), np.array(errors), reason, refused)


def stump(depth: int = 1, *, seed: int = 0) -> Callable[[Any, Any, Any], Decide]:
    """scikit-learn's decision tree of a few levels (1: a stump) as a weak learner fit(x, y, weights).

    >>> decide = stump()(np.array([[0.0], [1.0]]), np.array([-1, 1]), np.array([0.5, 0.5]))
    >>> decide(np.array([[-3.0], [4.0]])).tolist()
    [-1, 1]
    """
    require_counts("stump", depth=depth)

    def fit(x: Any, y: Any, weights: Any) -> Decide:
        from sklearn.tree import DecisionTreeClassifier

        tree = DecisionTreeClassifier(max_depth=depth, random_state=seed)
        return tree.fit(x, y, sample_weight=weights).predict

    return fit


def _signs(decisions: Any, rows: int) -> Float[np.ndarray, " m"]:
    found = np.asarray(decisions, float)
    if found.shape != (rows,) or not np.isin(found, (-1, 1)).all():
        raise ValueError(
            f"A weak learner gave {np.unique(found)[:4].tolist()} in shape {found.shape} for {rows} rows; it must say "
            "−1 or 1 for each."
        )
    return found
