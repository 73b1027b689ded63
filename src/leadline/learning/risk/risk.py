"""Risks: empirical with an interval, of the population by quadrature or Monte Carlo, and how they vary over samples."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Array, Float, Num, PRNGKeyArray

from leadline._checks import require
from leadline.data import generator

from ..tasks import LearningTask
from .distributions import Distribution, EmpiricalDistribution, Loss, draw_sample, pointwise_loss

Predictor = Callable[[Any], Any]


class RiskEstimate(NamedTuple):
    """A mean loss, its standard error and a confidence interval for the risk."""

    risk: float
    error: float
    low: float
    high: float
    samples: int


def estimate_risk(losses: Num[Array | np.ndarray, " n"], *, confidence: float = 0.95) -> RiskEstimate:
    """(1/n) Σ Lᵢ with Student's interval mean ± t_{n-1} s/√n, for a function that did not see these examples.

    The interval is exact for normal losses and right for others as n grows. On the examples that a function was
    fitted to, the mean is no unbiased estimate of its risk.

    >>> estimate = estimate_risk(np.array([0.0, 1.0, 2.0]))
    >>> estimate.risk, round(estimate.error, 4)
    (1.0, 0.5774)
    """
    require("estimate_risk", axes=1, losses=losses)
    from scipy.special import stdtrit

    losses = np.asarray(losses, float)
    if losses.ndim != 1 or losses.size < 2:
        raise ValueError(f"estimate_risk got losses of shape {losses.shape}; give at least two losses in one axis.")
    if not 0 < confidence < 1:
        raise ValueError(f"estimate_risk got confidence {confidence}; give a number between 0 and 1.")
    error = float(losses.std(ddof=1)) / math.sqrt(losses.size)
    half = float(stdtrit(losses.size - 1, 0.5 + confidence / 2)) * error
    risk = float(losses.mean())
    return RiskEstimate(risk, error, risk - half, risk + half, losses.size)


def population_risk(predict: Predictor, law: Distribution, *, loss: Loss = "squared", atol: float = 1e-10) -> float:
    """R(f) = E L(f(X), Y) under a known distribution: quadrature over x of the risk given x.

    >>> from leadline.learning import GaussianClasses
    >>> law = GaussianClasses(((-1.0,), (1.0,)), (-1, 1))
    >>> round(population_risk(lambda x: np.where(x[..., 0] > 0, 1, -1), law, loss="zero-one"), 6)
    0.158655
    """
    if isinstance(law, EmpiricalDistribution):
        return float(np.mean(law.conditional_risk(np.asarray(predict(law.x)), law.x, loss)))
    return law.expectation(lambda x: law.conditional_risk(np.asarray(predict(x)), x, loss), atol=atol)


def monte_carlo_risk(
    predict: Predictor,
    law: Distribution,
    samples: int,
    *,
    loss: Loss = "squared",
    confidence: float = 0.95,
    key: PRNGKeyArray,
) -> RiskEstimate:
    """R(f) from fresh examples of the distribution: the mean loss with its interval.

    >>> import jax
    >>> from leadline.learning import BinaryDistribution, UniformInputs
    >>> coin = BinaryDistribution(UniformInputs(), lambda x: np.zeros(x.shape[:-1]))
    >>> estimate = monte_carlo_risk(lambda x: np.ones(len(x)), coin, 400, loss="zero-one", key=jax.random.key(0))
    >>> estimate.low < 0.5 < estimate.high
    True
    """
    x, y = draw_sample(law, samples, key=key)
    return estimate_risk(np.asarray(pointwise_loss(loss)(np.asarray(predict(x)), y)), confidence=confidence)


def risk_distribution(
    task: LearningTask, n: int, repeats: int, *, loss: Loss = "squared", atol: float = 1e-8, key: PRNGKeyArray
) -> Float[np.ndarray, " repeats"]:
    """R(f_Z) for independent training samples Z of size n: the risk of what the task's algorithm learns.

    For squared loss on inputs in a regression distribution the quadrature over x is done once, on the second moments of
    the features: R(θ) = θᵀSθ - 2θ·c + v.

    >>> import jax
    >>> from leadline.learning import RegressionDistribution, UniformInputs, affine, noise_distribution
    >>> law = RegressionDistribution(lambda x: x[..., 0], UniformInputs(), noise_distribution("gaussian", 0.5))
    >>> risks = risk_distribution(LearningTask(law, affine()), 20, 3, key=jax.random.key(0))
    >>> risks.shape, bool((risks > 0.25).all())
    ((3,), True)
    """
    rng = generator(key)
    learned = [task.learn(task.law.draw((n,), rng)) for _ in range(repeats)]
    if loss == "squared":
        from .error_terms import population_moments

        moments = population_moments(task.hypotheses, task.law)
        return np.array([float(moments(f.parameters)) for f in learned])
    return np.array([population_risk(f, task.law, loss=loss, atol=atol) for f in learned])


def expected_fit_risks(n: int, dim: int, sigma: float = 1.0) -> tuple[float, float]:
    """E train MSE = σ²(1 - d/n) and E test MSE = σ²(1 + d/(n-d-1)) of least squares in the Gaussian model.

    x ~ N(0, I_d), y = w·x + N(0, σ²), no intercept, n > d + 1: the trace of a projection, and the mean of an
    inverse Wishart matrix.

    >>> expected_fit_risks(20, 9)
    (0.55, 1.9)
    """
    if n <= dim + 1:
        raise ValueError(f"expected_fit_risks got n = {n} and d = {dim}; the test risk has a mean only for n > d + 1.")
    return sigma**2 * (1 - dim / n), sigma**2 * (1 + dim / (n - dim - 1))
