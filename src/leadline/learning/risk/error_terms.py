"""Approximation, generalisation and optimisation error, exactly: finite classes, and balls of linear functions.

For f = θ·φ and squared loss both risks are quadratic, R(θ) = θᵀSθ - 2θ·c + v, so that infimum and supremum over the
ball ‖θ‖ ≤ B are trust-region problems, solved by the secular equation (Moré and Sorensen 1983).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, Num, PyTree

from leadline._checks import require, require_numbers
from leadline.training import minimise

from .distributions import Distribution
from .hypotheses import LinearClass

Matrix = Float[np.ndarray, "*batch p p"]
Vector = Float[np.ndarray, "*batch p"]
Scalar = Float[np.ndarray, "*batch"] | float


class QuadraticRisk(NamedTuple):
    """R(θ) = θᵀSθ - 2θ·c + v with S = E φφᵀ, c = E φy, v = E y²; leading axes are separate risks.

    >>> risk = QuadraticRisk(np.eye(2), np.array([1.0, 0.0]), np.array(2.0))
    >>> float(risk(np.array([1.0, 0.0])))
    1.0
    """

    S: Matrix
    c: Vector
    v: Scalar

    def __call__(self, theta: Num[Array | np.ndarray, "*batch p"]) -> Scalar:
        theta = np.asarray(theta, float)
        quadratic = (theta[..., None, :] @ self.S @ theta[..., :, None])[..., 0, 0]
        return quadratic - 2 * (theta * self.c).sum(-1) + self.v

    def minus(self, other: "QuadraticRisk") -> "QuadraticRisk":
        """The difference of two risks, again a quadratic."""
        return QuadraticRisk(self.S - other.S, self.c - other.c, self.v - other.v)


def empirical_moments(
    features: Num[Array | np.ndarray, "*batch n p"], y: Num[Array | np.ndarray, "*batch n"]
) -> QuadraticRisk:
    """The empirical risk (1/n) Σ (θ·φᵢ - yᵢ)² as a quadratic.

    >>> empirical_moments(np.array([[1.0], [3.0]]), np.array([1.0, 1.0])).S.tolist()
    [[5.0]]
    """
    require_numbers("empirical_moments", features=features, y=y)
    if np.ndim(features) < 2:
        raise ValueError(
            f"empirical_moments got features of shape {np.shape(features)}; give one row for each example."
        )
    X, y = np.asarray(features, float), np.asarray(y, float)
    n = X.shape[-2]
    return QuadraticRisk(X.mT @ X / n, (X.mT @ y[..., None])[..., 0] / n, (y**2).mean(-1))


def population_moments(hypotheses: LinearClass, law: Distribution, *, atol: float = 1e-10) -> QuadraticRisk:
    """The population risk of a class under a known distribution as a quadratic, by one quadrature over x.

    >>> from leadline.learning import RegressionDistribution, UniformInputs, affine, noise_distribution
    >>> law = RegressionDistribution(lambda x: x[..., 0], UniformInputs(), noise_distribution("gaussian", 1.0))
    >>> population_moments(affine(), law).S.round(6).tolist()
    [[0.333333, 0.5], [0.5, 1.0]]
    """
    p = hypotheses.size

    def moments(x):
        features = np.asarray(hypotheses.features(x))
        mean, square = law.target_moments(x)
        products = (features[:, :, None] * features[:, None, :]).reshape(len(features), p * p)
        return np.concatenate([products, features * mean[:, None], square[:, None]], axis=1)

    flat = np.asarray(law.expectation(moments, atol=atol))
    return QuadraticRisk(flat[: p * p].reshape(p, p), flat[p * p : -1], np.asarray(flat[-1]))


class BallMinimum(NamedTuple):
    """The minimum of a quadratic over a ball, with its multiplier; `gap` is the distance to the dual value."""

    argument: Vector
    value: Scalar
    multiplier: Scalar
    gap: Scalar


def ball_minimum(risk: QuadraticRisk, radius: float) -> BallMinimum:
    """min over ‖θ‖ ≤ radius of θᵀSθ - 2θ·c + v, for any symmetric S, the hard case included.

    (S + λI)θ = c with λ ≥ 0, S + λI ≥ 0 and λ = 0 or ‖θ‖ = radius; λ is found by bisection of the secular equation
    ‖(S + λI)⁻¹c‖ = radius. The dual value v - c·(S + λI)⁺c - λ radius² bounds the minimum from below for every λ.

    >>> best = ball_minimum(QuadraticRisk(np.diag([-1.0, 1.0]), np.zeros(2), np.array(0.0)), 2.0)  # the hard case
    >>> float(best.value), abs(best.argument).tolist(), float(best.multiplier)
    (-4.0, [2.0, 0.0], 1.0)
    """
    if not 0 < radius < np.inf:
        raise ValueError(f"ball_minimum got radius {radius}; give a positive finite number.")
    a, Q = np.linalg.eigh(risk.S)
    beta = (Q.mT @ risk.c[..., None])[..., 0]
    lowest, above = a[..., 0], a - a[..., :1]
    # With μ = λ + a₁ the secular function falls on μ > max(a₁, 0), and is at most the radius at ‖c‖/radius.
    low = np.maximum(lowest, 0.0)
    high = np.maximum(np.abs(beta).max(-1) * beta.shape[-1] ** 0.5 / radius, low)
    inside = (lowest > 0) & (_length(beta, above, low) <= radius)
    for _ in range(200):  # halves towards 0 too, hence relative precision
        middle = (low + high) / 2
        outside = _length(beta, above, middle) > radius
        low, high = np.where(outside, middle, low), np.where(outside, high, middle)
    mu = np.where(inside, lowest, high)
    theta = _quotient(beta, above + mu[..., None])
    # On the sphere the first coordinate takes what length is left; in the hard case the quotient cannot say how much.
    left = np.sqrt(np.maximum(radius**2 - (theta[..., 1:] ** 2).sum(-1), 0.0))
    first = np.where(inside, theta[..., 0], np.where(beta[..., 0] < 0, -left, left))
    theta = np.concatenate([first[..., None], theta[..., 1:]], axis=-1)
    theta = theta * np.minimum(1.0, radius / np.maximum(np.linalg.norm(theta, axis=-1, keepdims=True), 1e-300))
    value = (a * theta**2 - 2 * beta * theta).sum(-1) + risk.v
    multiplier = np.maximum(mu - lowest, 0.0)
    dual = risk.v - (beta * _quotient(beta, above + mu[..., None])).sum(-1) - multiplier * radius**2
    return BallMinimum((Q @ theta[..., None])[..., 0], value, multiplier, value - dual)


class UniformGap(NamedTuple):
    """sup over a class of |R̂(f) - R(f)|, and parameters at which it is attained (None if it is infinite)."""

    value: Scalar
    argument: Vector | None


def uniform_gap(empirical: QuadraticRisk, population: QuadraticRisk, radius: float) -> UniformGap:
    """sup over ‖θ‖ ≤ radius of |R̂(θ) - R(θ)|: the larger of a maximum and a minimum; infinite without a radius.

    >>> gap = uniform_gap(QuadraticRisk(2 * np.eye(1), np.zeros(1), np.array(0.0)),
    ...                   QuadraticRisk(np.eye(1), np.zeros(1), np.array(0.0)), 3.0)
    >>> float(gap.value)
    9.0
    """
    difference = empirical.minus(population)
    if np.isinf(radius):
        still = np.all(difference.S == 0, axis=(-2, -1)) & np.all(difference.c == 0, axis=-1)
        return UniformGap(np.where(still, np.abs(difference.v), np.inf), None)
    lowest = ball_minimum(difference, radius)
    highest = ball_minimum(QuadraticRisk(-difference.S, -difference.c, -difference.v), radius)
    upper = np.asarray(np.abs(highest.value) >= np.abs(lowest.value))
    value = np.maximum(np.abs(highest.value), np.abs(lowest.value))
    return UniformGap(value, np.where(upper[..., None], highest.argument, lowest.argument))


class ErrorTerms(NamedTuple):
    """The terms of R(f_Z) - R* ≤ ε_approx + 2 ε_gen + ε_opt, and the left side."""

    approximation: Scalar
    generalisation: Scalar
    optimisation: Scalar
    excess: Scalar

    @property
    def bound(self) -> Scalar:
        return self.approximation + 2 * self.generalisation + self.optimisation


def linear_error_terms(
    learned: Num[Array | np.ndarray, "*batch p"],
    empirical: QuadraticRisk,
    population: QuadraticRisk,
    *,
    radius: float,
    bayes_risk: float,
) -> ErrorTerms:
    """All three terms for the learned parameters in the ball ‖θ‖ ≤ radius, exactly.

    >>> risk = QuadraticRisk(np.eye(1), np.ones(1), np.array(1.5))
    >>> terms = linear_error_terms(np.zeros(1), risk, risk, radius=0.5, bayes_risk=0.5)
    >>> [float(t) for t in terms]
    [0.25, 0.0, 0.75, 1.0]
    """
    require("linear_error_terms", learned=learned)
    learned = np.asarray(learned, float)
    if np.any(np.linalg.norm(learned, axis=-1) > radius * (1 + 1e-9)):
        raise ValueError(f"The learned parameters lie outside the ball of radius {radius}; they must be in the class.")
    return ErrorTerms(
        ball_minimum(population, radius).value - bayes_risk,
        uniform_gap(empirical, population, radius).value,
        empirical(learned) - ball_minimum(empirical, radius).value,
        population(learned) - bayes_risk,
    )


def finite_error_terms(
    learned: Int[Array | np.ndarray, "*batch"] | int,
    empirical: Float[Array | np.ndarray, "*batch k"],
    population: Float[Array | np.ndarray, " k"],
    *,
    bayes_risk: float,
) -> ErrorTerms:
    """All three terms in a class of k functions, from their risks; `learned` is the index of the chosen one.

    >>> terms = finite_error_terms(1, np.array([0.5, 0.25]), np.array([0.25, 0.5]), bayes_risk=0.125)
    >>> [float(t) for t in terms], float(terms.bound)
    ([0.125, 0.25, 0.0, 0.375], 0.625)
    """
    require("finite_error_terms", axes=1, population=population)
    require("finite_error_terms", empirical=empirical)
    empirical, population = np.asarray(empirical, float), np.asarray(population, float)
    learned = np.asarray(learned)
    chosen = np.take_along_axis(empirical, learned[..., None], axis=-1)[..., 0]
    return ErrorTerms(
        population.min() - bayes_risk,
        np.abs(empirical - population).max(-1),
        chosen - empirical.min(-1),
        population[learned] - bayes_risk,
    )


def projected_descent(risk: QuadraticRisk, radius: float, num_steps: int) -> Float[np.ndarray, "..."]:
    """Full-batch gradient descent from 0 with step 1/L in the ball: all iterates, (steps + 1, *batch, p).

    L = 2 λ_max(S), so that no step raises the risk.

    >>> path = projected_descent(QuadraticRisk(np.eye(1), np.ones(1), np.array(1.0)), 0.5, 2)
    >>> path[:, 0].tolist()
    [0.0, 0.5, 0.5]
    """
    rate = 1 / np.maximum(2 * np.linalg.eigvalsh(risk.S)[..., -1:], 1e-300)
    path = [np.zeros_like(risk.c)]
    for _ in range(num_steps):
        theta = path[-1] - rate * 2 * ((risk.S @ path[-1][..., None])[..., 0] - risk.c)
        length = np.linalg.norm(theta, axis=-1, keepdims=True)
        path.append(theta * np.minimum(1.0, radius / np.maximum(length, 1e-300)))
    return np.stack(path)


def ascend_gap(
    gap: Callable[..., Any], starts: PyTree, optimiser: optax.GradientTransformation, num_steps: int, *arrays: Any
) -> Float[Array, " starts"]:
    """Lower bounds on sup |R̂(f) - R(f)| for models without a formula: |gap| after gradient ascent from each start.

    `gap(model, *arrays)` is R̂ - R; the models are stacked along a leading axis. Each start climbs up and down.

    >>> import jax.numpy as jnp
    >>> bounds = ascend_gap(lambda w: jnp.sin(w), jnp.zeros((1,)), optax.sgd(0.3), 200)
    >>> round(float(bounds.max()), 4)
    1.0
    """
    return _ascend(gap, starts, optimiser, num_steps, arrays)


@eqx.filter_jit
def _ascend(gap, starts, optimiser, steps, arrays):
    def climb(start, sign):
        end, _ = minimise(lambda model, *arrays: -sign * gap(model, *arrays), start, optimiser, steps, *arrays)
        return sign * gap(end, *arrays)

    signs = jnp.array([1.0, -1.0])
    return eqx.filter_vmap(lambda start: jax.vmap(lambda sign: climb(start, sign))(signs).max())(starts)


def _length(beta: np.ndarray, above: np.ndarray, mu: Scalar) -> Any:
    return np.linalg.norm(_quotient(beta, above + np.asarray(mu)[..., None]), axis=-1)


def _quotient(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """0 where the numerator is; infinite where the denominator alone vanishes."""
    with np.errstate(divide="ignore", over="ignore"):
        return np.where(numerator == 0, 0.0, numerator / np.where(numerator == 0, 1.0, denominator))
