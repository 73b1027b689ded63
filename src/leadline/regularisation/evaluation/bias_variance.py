"""Bias and variance of any learner: refits on fresh datasets, their middle, and the terms of the error for two losses."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Float, Num, PRNGKeyArray, Real, Shaped

from leadline._checks import require, require_axes, require_counts

Predictions = Shaped[Array | np.ndarray, "_ _"]


class BiasVariance(NamedTuple):
    """The terms of the expected squared error at m inputs, over the datasets that were drawn."""

    predictions: Float[np.ndarray, "datasets m"]
    truth: Float[np.ndarray, " m"]  # f*(x) = E[y|x]
    noise: Float[np.ndarray, " m"]  # Var(y|x)

    @property
    def mean(self) -> Float[np.ndarray, " m"]:
        """The mean prediction over datasets."""
        return self.predictions.mean(axis=0)

    @property
    def bias_squared(self) -> Float[np.ndarray, " m"]:
        """(mean − f*)² over these datasets; its expectation has Var/S of S datasets on top of the bias of infinitely
        many."""
        return (self.mean - self.truth) ** 2

    @property
    def variance(self) -> Float[np.ndarray, " m"]:
        """The mean of (f_D − mean)² over these datasets."""
        return self.predictions.var(axis=0)

    @property
    def excess(self) -> Float[np.ndarray, "datasets m"]:
        """(f_D − f*)² of each dataset; its mean over datasets is bias² + variance."""
        return (self.predictions - self.truth) ** 2

    @property
    def risk(self) -> float:
        """The mean over the inputs of bias² + variance + noise."""
        return float((self.bias_squared + self.variance + self.noise).mean())


def bias_variance(
    fit_predict: Callable[..., Any],
    draw: Callable[[PRNGKeyArray], tuple[Any, ...]],
    x: Shaped[Array | np.ndarray, "m ..."],
    truth: Real[Array | np.ndarray, " m"],
    *,
    noise: float | Real[Array | np.ndarray, " m"] = 0.0,
    datasets: int = 200,
    key: PRNGKeyArray,
) -> BiasVariance:
    """E_D (f_D(x) − f*(x))² = (E_D f_D(x) − f*(x))² + Var_D f_D(x) for a learner, by refitting it on fresh datasets.

    `draw(key)` gives a dataset (x, y), and `fit_predict(x_train, y_train, x)` what is learned from it says at x. With
    the noise Var(y|x) added and averaged over x, it is the expected risk (Geman, Bienenstock and Doursat 1992).

    >>> coin = lambda key: (np.zeros((4, 1)), np.asarray(jax.random.normal(key, (4,))) + 1.0)
    >>> halved = lambda x, y, new: np.full(len(new), y.mean() / 2)
    >>> found = bias_variance(halved, coin, np.zeros((1, 1)), np.ones(1), datasets=400, key=jax.random.key(0))
    >>> bool(abs(found.bias_squared[0] - 1 / 4) < 0.05), bool(abs(found.variance[0] - 1 / 16) < 0.02)
    (True, True)
    """
    return squared_terms(refits(fit_predict, draw, x, datasets=datasets, key=key), truth, noise)


def refits(
    fit_predict: Callable[..., Any],
    draw: Callable[[PRNGKeyArray], tuple[Any, ...]],
    x: Shaped[Array | np.ndarray, "m ..."],
    *,
    datasets: int = 200,
    key: PRNGKeyArray,
) -> Shaped[np.ndarray, "datasets m"]:
    """What `fit_predict(*draw(key), x)` says at x for each of many datasets.

    `draw` may give more than (x, y): a key for a learner that is random itself, say, is passed on as well.

    >>> draw = lambda key: (np.zeros((3, 1)), np.arange(3))
    >>> largest = lambda x, y, new: np.full(len(new), y.max())
    >>> refits(largest, draw, np.zeros((2, 1)), datasets=4, key=jax.random.key(0)).shape
    (4, 2)
    """
    require_counts("refits", least=2, datasets=datasets)
    said = [np.asarray(fit_predict(*draw(one), x)) for one in jax.random.split(key, datasets)]
    if said[0].shape != (len(x),):
        raise ValueError(f"refits got predictions of shape {said[0].shape} for {len(x)} inputs; give one a row.")
    return np.stack(said)


def aggregate(predictions: Shaped[Array | np.ndarray, "_ m"], loss: str = "squared") -> Shaped[np.ndarray, " m"]:
    """argmin over y' of E_D l(f_D(x), y'): the mean for "squared", the median for "absolute", the mode for "zero-one".

    A row for each model (dataset, member, seed). Of several medians it is the middle of them, of several modes the
    least.

    >>> said = np.array([[1.0], [1.0], [4.0], [10.0], [4.0], [1.0], [7.0]])
    >>> [aggregate(said, loss).tolist() for loss in ("squared", "absolute", "zero-one")]
    [[4.0], [4.0], [1.0]]
    """
    require_axes("aggregate", 2, predictions=predictions)
    said = np.asarray(predictions)
    if loss == "zero-one":
        from scipy.stats import mode

        names, numbers = np.unique(said, return_inverse=True)
        return names[mode(numbers.reshape(said.shape), axis=0).mode]
    if loss not in ("squared", "absolute"):
        raise ValueError(f"aggregate got loss '{loss}'; choose 'squared', 'absolute' or 'zero-one'.")
    return said.mean(axis=0) if loss == "squared" else np.median(said, axis=0)


def squared_terms(
    predictions: Num[Array | np.ndarray, "_ _"],
    truth: Real[Array | np.ndarray, " _"],
    noise: float | Real[Array | np.ndarray, " _"] = 0.0,
) -> BiasVariance:
    """The terms of predictions that are there already: a row for each dataset.

    >>> found = squared_terms(np.array([[0.0], [2.0]]), np.array([3.0]), 0.5)
    >>> found.bias_squared.tolist(), found.variance.tolist(), found.risk
    ([4.0], [1.0], 5.5)
    """
    require("squared_terms", axes=2, predictions=predictions)
    require("squared_terms", axes=1, truth=truth)
    said, truth = np.asarray(predictions, float), np.asarray(truth, float)
    if said.shape[1] != len(truth):
        raise ValueError(f"squared_terms got predictions {said.shape} and {len(truth)} true values; give one a column.")
    return BiasVariance(said, truth, np.broadcast_to(np.asarray(noise, float), truth.shape))


class LinearTerms(NamedTuple):
    """Bias² and variance of a linear learner at m inputs, exact: no dataset is drawn."""

    bias_squared: Float[np.ndarray, " m"]
    variance: Float[np.ndarray, " m"]


def linear_terms(
    smoother: Real[Array | np.ndarray, "m n"],
    at_rows: Real[Array | np.ndarray, " n"],
    at_inputs: Real[Array | np.ndarray, " m"],
    noise: float,
) -> LinearTerms:
    """f̂ = S y, y = f*(X) + ε with Var ε = `noise`: bias² = (S f*(X) − f*(x))² and variance = noise·‖Sₓ‖².

    `smoother` maps the targets at n fixed rows to predictions at m inputs, `at_rows` and `at_inputs` are f* there.

    >>> found = linear_terms(np.array([[0.5, 0.5]]), np.array([0.0, 2.0]), np.array([3.0]), 1.0)
    >>> found.bias_squared.tolist(), found.variance.tolist()
    ([4.0], [0.5])
    """
    require("linear_terms", axes=2, smoother=smoother)
    s = np.asarray(smoother, float)
    if noise < 0:
        raise ValueError(f"linear_terms got noise = {noise}; a variance is at least 0.")
    return LinearTerms((s @ np.asarray(at_rows) - np.asarray(at_inputs)) ** 2, noise * (s**2).sum(axis=1))


class ZeroOneTerms(NamedTuple):
    """Domingos' terms (2000) of the error rate of two-class predictions, at each of m inputs.

    E[error] = c₁ N + B + c₂ V with the noise N = P(y ≠ f*), the bias B = 1{f_avg ≠ f*} of the main prediction f_avg,
    the variance V = P_D(f_D ≠ f_avg), c₁ = 2 P_D(f_D = f*) − 1 and c₂ = +1 where B = 0, −1 where B = 1: there,
    variance lowers the error.
    """

    main: Shaped[np.ndarray, " m"]  # the majority over datasets, of equals the larger label
    noise: Float[np.ndarray, " m"]
    bias: Float[np.ndarray, " m"]
    variance: Float[np.ndarray, " m"]
    c1: Float[np.ndarray, " m"]
    c2: Float[np.ndarray, " m"]

    @property
    def error(self) -> Float[np.ndarray, " m"]:
        """c₁ N + B + c₂ V."""
        return self.c1 * self.noise + self.bias + self.c2 * self.variance


def zero_one_terms(predictions: Predictions, best: Shaped[Array | np.ndarray, " _"], noise: Any) -> ZeroOneTerms:
    """The terms of predictions of two classes, a row for each dataset; `best` is f*(x), `noise` P(y ≠ f*(x)).

    >>> found = zero_one_terms(np.array([[1, 1], [1, 0], [0, 0]]), np.array([1, 1]), np.array([0.1, 0.1]))
    >>> found.bias.tolist(), found.c2.tolist(), found.error.round(4).tolist()
    ([0.0, 1.0], [1.0, -1.0], [0.3667, 0.6333])
    """
    require("zero_one_terms", axes=2, predictions=predictions)
    require("zero_one_terms", axes=1, best=best)
    said, best = np.asarray(predictions), np.asarray(best)
    if said.shape[1] != len(best):
        raise ValueError(f"zero_one_terms got predictions {said.shape} and {len(best)} best labels; give one a column.")
    labels = np.unique(np.concatenate([said.ravel(), best]))
    if len(labels) > 2:
        raise ValueError(f"zero_one_terms got {len(labels)} classes; the decomposition is that of two.")
    main = np.where(2 * (said == labels[-1]).sum(axis=0) >= len(said), labels[-1], labels[0])
    bias = (main != best) * 1.0
    right = (said == best).mean(axis=0)
    noise = np.broadcast_to(np.asarray(noise, float), best.shape)
    return ZeroOneTerms(main, noise, bias, (said != main).mean(axis=0), 2 * right - 1, 1 - 2 * bias)
