"""Distributions of examples (x, y) that are known: each can be sampled, and expectations under it computed."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Array, Float, Num, PRNGKeyArray

from leadline.data import generator

from .input_distributions import REACH, Inputs, integral, normal_density

Points = Num[Array | np.ndarray, "*n d"]
Values = Num[Array | np.ndarray, "*n"]
Loss = Literal["squared", "zero-one"] | Callable[[Any, Any], Any]  # a loss (prediction, target)


class Sample(NamedTuple):
    """Independent examples: inputs in rows, one target a row; leading axes are separate samples."""

    x: Num[Array | np.ndarray, "*batch n d"]
    y: Num[Array | np.ndarray, "*batch n"]


@runtime_checkable
class Distribution(Protocol):
    """What a distribution of examples offers: samples, expectations over x, and the risk given x."""

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Sample:
        """Independent examples in the given shape."""
        ...

    def expectation(self, function: Callable[[Any], Any], *, atol: float = 1e-10) -> Any:
        """E g(X); g takes rows of inputs, and its values may be arrays (n, ...)."""
        ...

    def target_moments(self, x: Points) -> tuple[Values, Values]:
        """E[Y | X = x] and E[Y² | X = x]."""
        ...

    def conditional_risk(self, predictions: Values, x: Points, loss: Loss) -> Values:
        """E[L(c, Y) | X = x] for a prediction c at each x."""
        ...


def draw_sample(law: Distribution, n: int, *, repeats: int | None = None, key: PRNGKeyArray) -> Sample:
    """n independent examples of a distribution, or `repeats` independent samples of n along a leading axis.

    >>> import jax
    >>> from leadline.learning import UniformInputs
    >>> law = BinaryDistribution(UniformInputs(2), lambda x: x[..., 0])
    >>> [part.shape for part in draw_sample(law, 5, repeats=3, key=jax.random.key(0))]
    [(3, 5, 2), (3, 5)]
    """
    if n < 1:
        raise ValueError(f"draw_sample got n = {n}; a sample has at least one example.")
    return law.draw((n,) if repeats is None else (repeats, n), generator(key))


@dataclass(frozen=True)
class RegressionDistribution:
    """y = f(x) + s(x) ε with ε independent of x: `target` f, `spread` s (1 if left out), `noise` the distribution of ε.

    `noise` is a frozen SciPy distribution (`noise_distribution` names the usual ones). E[Y|x] = f(x) + s(x) E ε and
    Var(Y|x) = s(x)² Var ε: one-sided noise moves the conditional mean off the target.

    >>> from leadline.learning import UniformInputs, noise_distribution
    >>> law = RegressionDistribution(lambda x: 2 * x[..., 0], UniformInputs(), noise_distribution("exponential", 0.5))
    >>> law.mean(np.array([[1.0]])).tolist(), law.variance(np.array([[1.0]])).tolist()
    ([2.5], [0.25])
    """

    target: Callable[[Any], Any]
    inputs: Inputs
    noise: Any
    spread: Callable[[Any], Any] | None = None

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Sample:
        x = self.inputs.draw(shape, rng)
        return Sample(x, self.target(x) + self._spread(x) * self.noise.rvs(size=shape, random_state=rng))

    def mean(self, x: Points) -> Values:
        """E[Y | X = x], the best prediction under squared loss."""
        return self.target(x) + self._spread(x) * float(self.noise.mean())

    def variance(self, x: Points) -> Values:
        """Var(Y | X = x)."""
        return self._spread(x) ** 2 * float(self.noise.var())

    def target_moments(self, x: Points) -> tuple[Values, Values]:
        mean = self.mean(x)
        return mean, mean**2 + self.variance(x)

    def expectation(self, function: Callable[[Any], Any], *, atol: float = 1e-10) -> Any:
        return integral(function, self.inputs.density, *self.inputs.box, atol)

    def conditional_risk(self, predictions: Values, x: Points, loss: Loss) -> Values:
        """Closed form for squared loss; for any other (prediction, target), by quadrature on each side of its kink."""
        if loss == "squared":
            return (predictions - self.mean(x)) ** 2 + self.variance(x)
        if not callable(loss):
            raise ValueError(f"A regression law has no loss '{loss}'; give 'squared' or a function of two arrays.")
        from scipy.integrate import tanhsinh

        prediction, target, spread = np.broadcast_arrays(predictions, self.target(x), self._spread(x))
        low, high = self.noise.support()
        kink = np.clip((prediction - target) / spread, low, high)

        def part(noise, prediction, target, spread):
            return np.asarray(loss(prediction, target + spread * noise)) * self.noise.pdf(noise)

        arguments = {"args": (prediction, target, spread), "atol": 1e-12, "rtol": 1e-10}
        return tanhsinh(part, low, kink, **arguments).integral + tanhsinh(part, kink, high, **arguments).integral

    def _spread(self, x: Points) -> Values:
        return np.ones(x.shape[:-1]) if self.spread is None else np.asarray(self.spread(x))


@dataclass(frozen=True)
class BinaryDistribution:
    """Labels in {-1, +1} with E[Y | X = x] = η(x).

    >>> from leadline.learning import UniformInputs
    >>> law = BinaryDistribution(UniformInputs(), lambda x: 2 * x[..., 0] - 1)
    >>> law.posterior(np.array([[0.75]])).tolist()
    [[0.25, 0.75]]
    """

    inputs: Inputs
    eta: Callable[[Any], Any]
    classes = (-1, 1)

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Sample:
        x = self.inputs.draw(shape, rng)
        return Sample(x, np.where(rng.random(shape) < (1 + self.eta(x)) / 2, 1.0, -1.0))

    def posterior(self, x: Points) -> Float[np.ndarray, "..."]:
        """P(Y = c | X = x) for the labels c in the order of `classes`, along the last axis."""
        eta = np.asarray(self.eta(x))
        return np.stack([(1 - eta) / 2, (1 + eta) / 2], axis=-1)

    def target_moments(self, x: Points) -> tuple[Values, Values]:
        posterior, labels = self.posterior(x), np.asarray(self.classes, float)
        return posterior @ labels, posterior @ labels**2

    def expectation(self, function: Callable[[Any], Any], *, atol: float = 1e-10) -> Any:
        return integral(function, self.inputs.density, *self.inputs.box, atol)

    def conditional_risk(self, predictions: Values, x: Points, loss: Loss) -> Values:
        return _label_risk(self.classes, self.posterior(x), predictions, loss)


def logistic_distribution(weights: Num[Array | np.ndarray, " d"], bias: float, inputs: Inputs) -> BinaryDistribution:
    """The distribution with P(Y = +1 | x) = σ(w·x + b), that is η(x) = tanh((w·x + b)/2).

    >>> from leadline.learning.risk.input_distributions import NormalInputs
    >>> logistic_distribution(np.array([0.0]), 0.0, NormalInputs()).posterior(np.zeros((1, 1))).tolist()
    [[0.5, 0.5]]
    """
    w = np.asarray(weights, float)
    if w.shape != (inputs.dim,):
        raise ValueError(f"logistic_distribution got weights of shape {w.shape} for inputs in dimension {inputs.dim}.")
    return BinaryDistribution(inputs, lambda x: np.tanh((x @ w + bias) / 2))


@dataclass(frozen=True)
class GaussianClasses:
    """Class cₖ with probability πₖ, then x ~ N(mₖ, scale² I); labels may repeat.

    >>> law = GaussianClasses(((-1.0,), (1.0,)), (-1, 1))
    >>> law.posterior(np.array([[0.0]])).tolist()
    [[0.5, 0.5]]
    """

    means: tuple[tuple[float, ...], ...]
    labels: tuple[int, ...]
    shares: tuple[float, ...] | None = None
    scale: float = 1.0

    def __post_init__(self):
        shares = self.shares or (1 / len(self.means),) * len(self.means)
        if not len(self.means) == len(self.labels) == len(shares) or abs(sum(shares) - 1) > 1e-9:
            raise ValueError(
                f"GaussianClasses got {len(self.means)} means, {len(self.labels)} labels and shares that sum to "
                f"{sum(shares):g}; give one label and one share for each mean, shares with sum 1."
            )
        object.__setattr__(self, "shares", shares)

    @property
    def classes(self) -> tuple[int, ...]:
        return tuple(sorted(set(self.labels)))

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Sample:
        which = rng.choice(len(self.means), size=shape, p=self.shares)
        means = np.asarray(self.means, float)
        x = means[which] + self.scale * rng.standard_normal((*shape, means.shape[1]))
        return Sample(x, np.asarray(self.labels, float)[which])

    def density(self, x: Points) -> Values:
        return self._parts(x).sum(axis=-1)

    def posterior(self, x: Points) -> Float[np.ndarray, "..."]:
        """P(Y = c | X = x) for the labels c in the order of `classes`, along the last axis."""
        means, labels = np.asarray(self.means, float), np.asarray(self.labels)
        squares = ((x[..., None, :] - means) ** 2).sum(-1) / self.scale**2
        weights = np.asarray(self.shares) * np.exp(-(squares - squares.min(-1, keepdims=True)) / 2)
        by_class = np.stack([weights[..., labels == c].sum(-1) for c in self.classes], axis=-1)
        return by_class / by_class.sum(-1, keepdims=True)

    def target_moments(self, x: Points) -> tuple[Values, Values]:
        posterior, labels = self.posterior(x), np.asarray(self.classes, float)
        return posterior @ labels, posterior @ labels**2

    def expectation(self, function: Callable[[Any], Any], *, atol: float = 1e-10) -> Any:
        means, reach = np.asarray(self.means, float), REACH * self.scale
        return integral(function, self.density, means.min(0) - reach, means.max(0) + reach, atol)

    def conditional_risk(self, predictions: Values, x: Points, loss: Loss) -> Values:
        return _label_risk(self.classes, self.posterior(x), predictions, loss)

    def _parts(self, x: Points) -> np.ndarray:
        means = np.asarray(self.means, float)
        return np.asarray(self.shares) * normal_density(np.asarray(x)[..., None, :] - means, self.scale)


@dataclass(frozen=True)
class EmpiricalDistribution:
    """Real data as a distribution: examples are rows drawn with replacement, so every expectation is a finite mean.

    >>> law = EmpiricalDistribution(np.array([[0.0], [2.0]]), np.array([1.0, 3.0]))
    >>> law.expectation(lambda x: x[..., 0])
    1.0
    """

    x: Num[Array | np.ndarray, "n d"]
    y: Num[Array | np.ndarray, " n"]

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Sample:
        rows = rng.integers(len(self.y), size=shape)
        return Sample(np.asarray(self.x)[rows], np.asarray(self.y)[rows])

    def expectation(self, function: Callable[[Any], Any], *, atol: float = 0.0) -> Any:
        value = np.mean(function(np.asarray(self.x)), axis=0)
        return float(value) if value.ndim == 0 else value

    def target_moments(self, x: Points) -> tuple[Values, Values]:
        """The targets of the distribution's own rows, and their squares: `x` must be these rows, in order."""
        self._own_rows(x)
        return np.asarray(self.y), np.asarray(self.y) ** 2

    def conditional_risk(self, predictions: Values, x: Points, loss: Loss) -> Values:
        """The loss at the rows themselves: `x` must be the rows of the distribution, in order."""
        self._own_rows(x)
        return pointwise_loss(loss)(predictions, np.asarray(self.y))

    def _own_rows(self, x: Points) -> None:
        if np.shape(x) != np.shape(self.x) or not np.array_equal(x, self.x):
            raise ValueError("What real data say given x is known at their own rows alone; pass x = law.x.")


def pointwise_loss(loss: Loss) -> Callable[[Any, Any], Any]:
    """The loss as a function (prediction, target); "zero-one" compares the prediction with the label."""
    if callable(loss):
        return loss
    named = {"squared": lambda c, y: (c - y) ** 2, "zero-one": lambda c, y: (c != y) * 1.0}
    if loss not in named:
        raise ValueError(f"There is no loss '{loss}'; give 'squared', 'zero-one' or a function (prediction, target).")
    return named[loss]


def _label_risk(classes, posterior, predictions, loss: Loss) -> np.ndarray:
    pointwise = pointwise_loss(loss)
    return np.asarray(sum(posterior[..., k] * np.asarray(pointwise(predictions, c)) for k, c in enumerate(classes)))
