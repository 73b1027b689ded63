"""Bayes risk: the floor under every learning curve, and the predictor that stands on it."""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from jaxtyping import Array, Num

from .distributions import BinaryDistribution, GaussianClasses, RegressionDistribution

LabelDistribution = BinaryDistribution | GaussianClasses


def bayes_risk(
    law: RegressionDistribution | LabelDistribution, *, loss: Literal["squared", "zero-one"], atol: float = 1e-10
) -> float:
    """R* = inf over all measurable f of R(f): E Var(Y|X) for squared loss, E min_c P(Y ≠ c | X) for zero-one loss.

    By adaptive quadrature over x. A high R* means a noisy task, not an ill-conditioned one.

    >>> from leadline.learning import UniformInputs, noise_distribution
    >>> law = RegressionDistribution(lambda x: x[..., 0], UniformInputs(), noise_distribution("gaussian", 0.5))
    >>> round(bayes_risk(law, loss="squared"), 9)
    0.25
    """
    if loss == "squared":
        return law.expectation(lambda x: _variance(law, x), atol=atol)
    if loss != "zero-one" or isinstance(law, RegressionDistribution):
        raise ValueError(f"There is no Bayes risk for loss '{loss}' under {type(law).__name__}; see the losses it has.")
    return law.expectation(lambda x: 1 - law.posterior(x).max(-1), atol=atol)


def bayes_predictor(
    law: RegressionDistribution | LabelDistribution, *, loss: Literal["squared", "zero-one"]
) -> Callable[[Num[Array | np.ndarray, "*n d"]], Any]:
    """f*: the conditional mean for squared loss, the likeliest label (the last of equals) for zero-one loss.

    >>> law = GaussianClasses(((-1.0,), (1.0,)), (-1, 1))
    >>> bayes_predictor(law, loss="zero-one")(np.array([[-0.2], [0.0], [3.0]])).tolist()
    [-1, 1, 1]
    """
    if loss == "squared":
        return lambda x: law.target_moments(x)[0]
    if loss != "zero-one" or isinstance(law, RegressionDistribution):
        raise ValueError(f"There is no Bayes predictor for loss '{loss}' under {type(law).__name__}.")
    classes = np.asarray(law.classes)
    return lambda x: classes[::-1][law.posterior(x)[..., ::-1].argmax(-1)]


def nearest_neighbours_mean(
    x: Num[Array | np.ndarray, "n d"], y: Num[Array | np.ndarray, " n"], k: int
) -> Callable[[Num[Array | np.ndarray, "m d"]], Any]:
    """x ↦ the mean target of the k nearest examples: tends to E[Y|X=x] as k → ∞, k/n → 0 (Stone 1977).

    >>> f = nearest_neighbours_mean(np.array([[0.0], [1.0], [5.0]]), np.array([1.0, 3.0, 9.0]), 2)
    >>> f(np.array([[0.4]])).tolist()
    [2.0]
    """
    from scipy.spatial import KDTree

    if not 1 <= k <= len(y):
        raise ValueError(f"nearest_neighbours_mean got k = {k} for {len(y)} examples; choose 1 to {len(y)}.")
    tree, targets = KDTree(np.asarray(x)), np.asarray(y, float)

    def predict(points):
        _, rows = tree.query(np.asarray(points), k=[*range(1, k + 1)])
        return targets[rows].mean(axis=-1)

    return predict


def _variance(law: RegressionDistribution | LabelDistribution, x: np.ndarray) -> np.ndarray:
    if isinstance(law, RegressionDistribution):
        return np.asarray(law.variance(x))
    mean, square = law.target_moments(x)
    return np.asarray(square - mean**2)
