"""Learning curves, what they say about a model, and the change that they advise."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray, Shaped

from leadline._checks import require_counts, require_rows
from leadline.data import generator
from leadline.learning.risk.distributions import Loss, pointwise_loss

FitPredict = Callable[..., Any]
Rows = tuple[Shaped[Array | np.ndarray, "_ ..."], Shaped[Array | np.ndarray, "_ ..."]]

ADVICE = {
    "variance": "more data, a smaller model, a stronger regulariser or bagging",
    "bias": "a larger model, more features or a weaker regulariser",
    "fine": "nothing: the validation error is near the target",
}


class LearningCurve(NamedTuple):
    """Training and validation error of models fitted to the first n rows of several orders, for each n."""

    sizes: Int[np.ndarray, " s"]
    train: Float[np.ndarray, "s repeats"]
    validation: Float[np.ndarray, "s repeats"]


def learning_curve(
    fit_predict: FitPredict,
    train: Rows,
    validation: Rows,
    sizes: Sequence[int],
    *,
    repeats: int = 5,
    loss: Loss = "squared",
    key: PRNGKeyArray,
) -> LearningCurve:
    """The error against the number of training rows, taken from the front of `repeats` random orders.

    >>> import jax
    >>> x, y = np.zeros((6, 1)), np.arange(6.0)
    >>> mean_of_targets = lambda x, y, new: np.full(len(new), y.mean())
    >>> found = learning_curve(mean_of_targets, (x, y), (x, y), [1, 6], repeats=2, key=jax.random.key(0))
    >>> found.train[:, 0].round(3).tolist(), found.validation[1].round(3).tolist()
    ([0.0, 2.917], [2.917, 2.917])
    """
    require_rows("learning_curve", x=train[0], y=train[1])
    require_rows("learning_curve", x=validation[0], y=validation[1])
    require_counts("learning_curve", sizes=np.asarray(sizes), repeats=repeats)
    if not len(sizes) or max(sizes) > len(train[1]):
        raise ValueError(f"learning_curve got sizes {list(sizes)} for {len(train[1])} rows; give some, up to that.")
    rng, pointwise = generator(key), pointwise_loss(loss)
    errors = np.empty((2, len(sizes), repeats))
    for repeat in range(repeats):
        order = rng.permutation(len(train[1]))
        for at, size in enumerate(sizes):
            x, y = (part[order[:size]] for part in train)
            said = np.asarray(fit_predict(x, y, np.concatenate([np.asarray(x), np.asarray(validation[0])])))
            errors[0, at, repeat] = np.mean(pointwise(said[:size], np.asarray(y)))
            errors[1, at, repeat] = np.mean(pointwise(said[size:], np.asarray(validation[1])))
    return LearningCurve(np.asarray(sizes), *errors)


class Diagnosis(NamedTuple):
    """The regime, what is advised, and the step in capacity that this is: −1 smaller, +1 larger, 0 none."""

    regime: str
    advice: str
    step: int
    gap: float  # validation error less training error
    excess: float  # validation error less target


def diagnose(train: float, validation: float, target: float, *, tolerance: float = 0.1) -> Diagnosis:
    """Variance or bias? Of the excess of the validation error over the target, more is gap, or more is training error.

    excess = (validation − train) + (train − target). An excess within `tolerance` times the target is fine; else the
    regime is "variance" if the gap is the larger part, "bias" if the training error is. The target is the Bayes error,
    a person's error, or what is asked for.

    >>> diagnose(0.01, 0.30, 0.05).regime, diagnose(0.28, 0.30, 0.05).regime, diagnose(0.05, 0.054, 0.05).regime
    ('variance', 'bias', 'fine')
    """
    if not all(0 <= error < float("inf") for error in (train, validation, target)):
        raise ValueError(
            f"diagnose got errors {train}, {validation} and target {target}; give finite numbers of at least 0."
        )
    gap, excess = validation - train, validation - target
    larger = "variance" if gap >= excess - gap else "bias"
    regime = "fine" if excess <= tolerance * target else larger
    return Diagnosis(regime, ADVICE[regime], {"fine": 0, "variance": -1, "bias": 1}[regime], gap, excess)


class Followed(NamedTuple):
    """What was diagnosed, which member of the ladder was tried next, and both validation errors."""

    diagnosis: Diagnosis
    chosen: int
    before: float
    after: float


def follow_advice(
    ladder: Sequence[FitPredict],
    start: int,
    train: Rows,
    validation: Rows,
    target: float,
    *,
    loss: Loss = "squared",
    tolerance: float = 0.1,
) -> Followed:
    """Fit member `start` of a ladder of learners of growing capacity, diagnose it, and take the advised step.

    At an end of the ladder, and where all is fine, nothing changes.

    >>> x = np.linspace(0, 1, 20)[:, None]
    >>> ladder = [lambda x, y, new, d=d: np.polyval(np.polyfit(x[:, 0], y, d), new[:, 0]) for d in (0, 1)]
    >>> found = follow_advice(ladder, 0, (x, x[:, 0]), (x, x[:, 0]), 0.0)
    >>> found.diagnosis.regime, found.chosen, found.after < 1e-20 < found.before
    ('bias', 1, True)
    """
    if not 0 <= start < len(ladder):
        raise ValueError(f"follow_advice got start {start} on a ladder of {len(ladder)}; give 0 to {len(ladder) - 1}.")
    pointwise = pointwise_loss(loss)

    def errors(member: int) -> tuple[float, float]:
        x, y = (np.asarray(part) for part in train)
        said = np.asarray(ladder[member](x, y, np.concatenate([x, np.asarray(validation[0])])))
        seen, held = said[: len(y)], said[len(y) :]
        return float(np.mean(pointwise(seen, y))), float(np.mean(pointwise(held, np.asarray(validation[1]))))

    fitted, before = errors(start)
    found = diagnose(fitted, before, target, tolerance=tolerance)
    chosen = min(max(start + found.step, 0), len(ladder) - 1)
    return Followed(found, chosen, before, before if chosen == start else errors(chosen)[1])
