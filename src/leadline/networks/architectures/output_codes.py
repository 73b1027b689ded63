"""Many classes from binary classifiers: one against the rest, one against one, and error-correcting codes.

All three are one scheme (Dietterich and Bakiri 1995; Allwein, Schapire and Singer 2000): a code matrix with entries
-1, 0, +1, a row for each class and a column for each binary classifier, which learns to tell the classes marked -1
from those marked +1 and never sees those marked 0.
"""

from itertools import combinations
from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Array, Bool, Float, Int, Num, PRNGKeyArray

from leadline._checks import require, require_rows
from leadline.data import generator

Code = Int[np.ndarray, "classes bits"]


def one_vs_rest(classes: int) -> Code:
    """C classifiers, each for one class against all others.

    >>> one_vs_rest(3).tolist()
    [[1, -1, -1], [-1, 1, -1], [-1, -1, 1]]
    """
    return 2 * np.eye(_at_least_two(classes), dtype=int) - 1


def one_vs_one(classes: int) -> Code:
    """C(C-1)/2 classifiers, one for each pair of classes.

    >>> one_vs_one(3).tolist()
    [[1, 1, 0], [-1, 0, 1], [0, -1, -1]]
    """
    pairs = list(combinations(range(_at_least_two(classes)), 2))
    code = np.zeros((classes, len(pairs)), dtype=int)
    for column, (first, second) in enumerate(pairs):
        code[first, column], code[second, column] = 1, -1
    return code


def random_code(classes: int, bits: int, *, tries: int = 200, key: PRNGKeyArray) -> Code:
    """Of `tries` random sign matrices, the one with the largest minimum distance between its rows.

    Every column has both signs. C classes need at least ⌈log₂ C⌉ bits to be told apart.

    >>> import jax
    >>> random_code(4, 2, key=jax.random.key(0)).shape
    (4, 2)
    """
    least = int(np.ceil(np.log2(_at_least_two(classes))))
    if bits < least:
        raise ValueError(f"{bits} bits cannot tell {classes} classes apart; give at least {least}.")
    rng = generator(key)
    best, distance = None, 0
    while best is None:
        for _ in range(tries):
            if bits <= 20:  # the rows are different numbers in binary, so that a code of the fewest bits is found too
                words = rng.choice(2**bits, size=classes, replace=False)
                code = 2 * ((words[:, None] >> np.arange(bits)) & 1) - 1
            else:
                code = rng.choice([-1, 1], size=(classes, bits))
            constant = np.flatnonzero(np.abs(code.sum(axis=0)) == classes)
            code[rng.integers(classes, size=len(constant)), constant] *= -1
            found = minimum_distance(code)
            if found > distance:
                best, distance = code, found
    return best


def minimum_distance(code: Code) -> int:
    """D: the least number of columns in which two rows have opposite signs; ⌊(D-1)/2⌋ wrong bits are corrected.

    >>> minimum_distance(one_vs_rest(5)), minimum_distance(one_vs_one(5))
    (2, 1)
    """
    require("minimum_distance", axes=2, code=code)
    opposite = (code[:, None, :] * code[None, :, :] < 0).sum(-1)
    return int(opposite[np.triu_indices(len(code), 1)].min())


class Decoded(NamedTuple):
    """The class for each row of scores, and whether another class was as near."""

    classes: Int[np.ndarray, " n"]
    ambiguous: Bool[np.ndarray, " n"]


def decode(
    code: Code, scores: Num[Array | np.ndarray, "n _"], *, distance: Literal["hamming", "soft"] = "hamming"
) -> Decoded:
    """The class whose row is nearest to the scores of the binary classifiers; the first of equally near ones.

    "hamming" counts the bits whose sign is wrong, over the entries that are not 0. For one against one that is the
    number of votes lost. "soft" sums the hinge max(0, 1 - m s) over the same entries, so that a sure bit counts more.

    >>> found = decode(one_vs_rest(3), np.array([[-1.0, 2.0, -3.0], [1.0, 0.5, -1.0]]))
    >>> found.classes.tolist(), found.ambiguous.tolist()
    ([1, 0], [False, True])
    """
    require("decode", axes=2, code=code, scores=scores)
    scores = np.asarray(scores, float)
    if scores.shape[-1] != code.shape[1]:
        raise ValueError(f"The code has {code.shape[1]} bits and the scores have {scores.shape[-1]}; give one a bit.")
    if distance == "hamming":
        bits = np.where(scores >= 0, 1, -1)
        cost = (code[None] * bits[:, None] < 0).sum(-1).astype(float)
    elif distance == "soft":
        cost = (np.maximum(0.0, 1 - code[None] * scores[:, None]) * (code != 0)).sum(-1)
    else:
        raise ValueError(f"There is no distance {distance!r}; choose 'hamming' or 'soft'.")
    return Decoded(cost.argmin(axis=1), (cost == cost.min(axis=1, keepdims=True)).sum(axis=1) > 1)


class OutputCode(NamedTuple):
    """Fitted binary classifiers, one for each column of the code."""

    code: Code
    classifiers: tuple[Any, ...]  # scikit-learn estimators with decision_function

    def scores(self, x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n bits"]:
        """The classifiers' signed scores."""
        return np.column_stack([c.decision_function(x) for c in self.classifiers])

    def predict(self, x: Float[np.ndarray, "n d"], *, distance: Literal["hamming", "soft"] = "hamming") -> Decoded:
        """The decoded classes of the rows of x."""
        return decode(self.code, self.scores(x), distance=distance)


def fit_output_code(
    code: Code, x: Float[np.ndarray, "n d"], y: Int[np.ndarray, " n"], *, estimator: Any = None
) -> OutputCode:
    """Train the binary classifier of each column; logistic regression unless another scikit-learn estimator is given.

    >>> x, y = np.array([[0.0, 0.0], [0.0, 3.0], [3.0, 0.0]]), np.array([0, 1, 2])
    >>> fit_output_code(one_vs_one(3), x, y).predict(x).classes.tolist()
    [0, 1, 2]
    """
    require("fit_output_code", axes=2, code=code, x=x)
    require_rows("fit_output_code", x=x, y=y)
    from sklearn.base import clone
    from sklearn.linear_model import LogisticRegression
    from threadpoolctl import threadpool_limits  # scikit-learn's own dependency

    if y.min() < 0 or y.max() >= len(code):
        raise ValueError(f"The labels run from {y.min()} to {y.max()}; the code has rows for 0 to {len(code) - 1}.")
    estimator = LogisticRegression(solver="newton-cholesky") if estimator is None else estimator
    fitted = []
    with threadpool_limits(1):  # many small problems: threads would spend their time waiting for each other
        for column in code.T:
            bit = column[y]
            seen = bit != 0
            if len(np.unique(bit[seen])) < 2:
                raise ValueError("A column of the code sees one sign only on these labels; drop it or add the classes.")
            fitted.append(clone(estimator).fit(x[seen], bit[seen]))
    return OutputCode(code, tuple(fitted))


def _at_least_two(classes: int) -> int:
    if classes < 2:
        raise ValueError(f"A code for {classes} classes makes no sense; give at least 2.")
    return classes
