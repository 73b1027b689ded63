"""Two ways to read a better classifier out of a perceptron's run: the pocket and the average."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Int, Num

from .classifier import LinearThreshold
from .training import Run, path

BLOCK = 4_000_000  # scores held at once while the errors of a path are counted


class Pocket(NamedTuple):
    """The best classifier met so far after each update, and the one met overall."""

    classifier: LinearThreshold
    errors: Int[np.ndarray, " steps"]  # training mistakes of the run's own weights after t = 0..T updates
    best: Int[np.ndarray, " steps"]  # those of the pocket, nonincreasing


def path_errors(
    run: Run, x: Num[Array | np.ndarray, "n d"], y: Num[Array | np.ndarray, " n"]
) -> Int[np.ndarray, " steps"]:
    """Training mistakes (y (w·x + b) ≤ 0) after t = 0..T updates of a run.

    >>> from leadline.linear_classifiers.perceptrons.training import learn
    >>> x, y = np.eye(3), np.ones(3)
    >>> path_errors(learn(x, y), x, y).tolist()
    [3, 2, 1, 0]
    """
    weights, biases = path(run, x, y)
    x, y = np.asarray(x), np.asarray(y)
    rows = max(1, BLOCK // len(y))
    counts = [
        np.sum((weights[i : i + rows] @ x.T + biases[i : i + rows, None]) * y <= 0, axis=1)
        for i in range(0, len(weights), rows)
    ]
    return np.concatenate(counts)


def pocket(run: Run, x: Num[Array | np.ndarray, "n d"], y: Num[Array | np.ndarray, " n"]) -> Pocket:
    """Gallant's pocket with ratchet: keep the weights of the run with the fewest training mistakes so far.

    On data that no hyperplane separates the rule itself never settles; the pocket's error never rises.

    >>> from leadline.linear_classifiers.perceptrons.training import learn
    >>> x = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> y = np.array([-1.0, 1.0, 1.0, -1.0])
    >>> kept = pocket(learn(x, y, bias=True, epochs=2), x, y)
    >>> kept.errors.tolist(), kept.best.tolist()
    ([4, 2, 3, 2, 4, 2, 3, 2, 4], [4, 2, 2, 2, 2, 2, 2, 2, 2])
    """
    errors = path_errors(run, x, y)
    weights, biases = path(run, x, y)
    kept = int(np.argmin(errors))
    return Pocket(LinearThreshold(weights[kept], float(biases[kept])), errors, np.minimum.accumulate(errors))


def averaged(run: Run, x: Num[Array | np.ndarray, "n d"], y: Num[Array | np.ndarray, " n"]) -> LinearThreshold:
    """Freund and Schapire's averaged perceptron: the mean over all P presentations of the weights after each.

    An update before which t presentations were made is in P - t of them, so
    mean w = w_0 + step Σₛ (1 - t_s/P) y x of the s-th mistake, without storing the path.

    >>> from leadline.linear_classifiers.perceptrons.training import learn
    >>> x, y = np.eye(2), np.ones(2)
    >>> averaged(learn(x, y), x, y).weights.tolist()
    [1.0, 0.75]
    """
    x, y = np.asarray(x), np.asarray(y)
    share = run.step * y[run.history] * (1 - run.times / run.presentations)
    weights = np.asarray(run.start) + share @ x[run.history]
    return LinearThreshold(weights.astype(run.start.dtype), float(np.sum(share)) * run.with_bias)
