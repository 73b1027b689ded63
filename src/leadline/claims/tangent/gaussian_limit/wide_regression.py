"""Regression with the Gaussian process of an infinitely wide network."""

import math

import jax
import numpy as np

from leadline import data, infinite_width
from leadline.evidence import Int, OneOf, Real, at_least, close, frequency, mean, model
from leadline.presentation import figure

_NINETY = 1.6448536269514722  # 90% of a normal distribution lies within so many standard deviations
_SEEN = np.array([0.4, 1.9, 3.9])
_GRID = np.linspace(0.0, 2 * math.pi, 10)[:-1] + 0.1


@model(sources=("sheet", "cam"))
def nngp_regression(
    key,
    activation: OneOf("relu", "tanh") = "relu",
    hidden: Int(1, 3) = 1,
    noise: Real(0.3, 1.0) = 0.4,
    bias: Real(0.1, 1.0) = 0.3,
    width: Int(256, 1024, log=True) = 512,
):
    r"""Bayesian regression with the NNGP.

    Regression with the kernel of an infinitely wide network is its exact Bayesian posterior: random networks weighted
    by their likelihood have its mean and variance, and its 90% bands contain the truth in 90% of cases.

    $$\mu(x) = k_x^\top (K + s^2 I)^{-1} y, \qquad v(x) = k(x, x) - k_x^\top (K + s^2 I)^{-1} k_x$$

    Assumes: noise of variance s² on the outputs; the prior on the network's weights is their initial distribution.

    Check: Three observations on the circle and 3000 random networks; then digits with 400 training images.
    """
    gain = 1.4
    stack = infinite_width.dense_stack(hidden, activation, W_std=gain, b_std=bias)
    x = _circle(np.concatenate([_SEEN, _GRID]))
    K = np.asarray(stack.kernel_fn(x, get="nngp"))
    train, grid = slice(0, 3), slice(3, None)
    y = np.array([0.6, -0.5, 0.3])
    posterior = infinite_width.nngp_posterior(K[train, train], y, K[grid, train], K[grid, grid], noise=noise)
    centre, variance = np.asarray(posterior.mean), np.diag(posterior.covariance)
    precision = np.linalg.inv(K + noise**2 * np.diag([1.0] * 3 + [0.0] * len(_GRID)) + 1e-9 * np.eye(len(x)))[grid]
    block = np.linalg.inv(precision[:, grid])
    what = "posterior variance, against the inverse block of the joint precision"
    yield close(block.diagonal(), variance, what, atol=1e-6)
    yield close(-block @ precision[:, train] @ y, centre, "posterior mean, against the joint precision", atol=1e-6)
    # Networks drawn from the prior, weighted by the likelihood of the observations: the posterior without a formula.
    first, second, third = jax.random.split(key, 3)
    f = infinite_width.draw_outputs(x, (width,) * hidden, activation, networks=3000, W_std=gain, b_std=bias, key=first)
    weight = np.exp(-((f[:, train] - y) ** 2).sum(axis=1) / (2 * noise**2))
    weight /= weight.mean()
    for j in (1, 4, 7):
        off = f[:, 3 + j] - centre[j]
        place = f"at angle {_GRID[j]:.2g}"
        yield mean(weight * off, 0.0, f"weighted networks' mean minus the posterior's, {place}")
        yield mean(weight * (off**2 - variance[j]), 0.0, f"weighted networks' variance minus the posterior's, {place}")
    rng = data.generator(second)
    truth = rng.standard_normal((2000, len(x))) @ np.linalg.cholesky(K + 1e-12 * np.eye(len(x))).T
    observed = truth[:, train] + noise * rng.standard_normal((2000, 3))
    fitted = infinite_width.nngp_posterior(K[train, train], observed.T, K[grid, train], K[grid, grid], noise=noise)
    inside = np.abs(truth[:, 3 + 4] - np.asarray(fitted.mean)[4]) <= _NINETY * math.sqrt(variance[4])
    yield frequency(inside.sum(), 2000, 0.9, "truth drawn from the prior lies in the 90% band")
    twice = np.array([0, 0, 1])  # one input observed twice, with two values
    bare = infinite_width.nngp_posterior(K[np.ix_(twice, twice)], y, K[np.ix_(twice, twice)], K[np.ix_(twice, twice)])
    yield close(bare.mean[:2], (y[0] + y[1]) / 2, "without noise, one input with two values: their average", atol=1e-9)
    accuracy = _digits_by_depth(activation, gain, bias)
    what = "digits: share of 500 test images right, 400 training images, s² = 0.01"
    yield at_least(list(accuracy.values()), 0.9, what)
    chosen = data.generator(third).choice(3000, size=30, p=weight / weight.sum())
    spread = _NINETY * np.sqrt(variance)
    best = max(accuracy, key=accuracy.get)
    lines, bands = {"posterior mean": (_GRID, centre)}, {"90% band": (_GRID, centre - spread, centre + spread)}
    points = {
        "weighted networks": (np.tile(_GRID, 30), f[chosen][:, grid].ravel()),
        "observed": (_SEEN, y, y - noise, y + noise),
    }
    left = figure.curves("posterior on the circle", "angle", "output", lines=lines, bands=bands, points=points)
    values = {"NNGP regression": {str(depth): 1 - a for depth, a in accuracy.items()}}
    title = "digits, 400 training images"
    right = figure.bars(title, "hidden layers", "share of 500 test images wrong", values=values)
    title = f"Networks of width {width} that fit lie in the band; {accuracy[best]:.1%} of digits right at depth {best}"
    yield figure.beside(title, left, right)


def _digits_by_depth(activation: str, gain: float, bias: float) -> dict[int, float]:
    split = data.digits_split(train=400)
    x = np.concatenate([split[0], split[2][:500]]).astype(float)
    x -= x[:400].mean(axis=0)
    x *= math.sqrt(x.shape[1]) / np.linalg.norm(x, axis=1, keepdims=True)
    labels = np.eye(10)[split[1]] - 0.1
    accuracy = {}
    for hidden in (1, 5):
        K = np.asarray(infinite_width.dense_stack(hidden, activation, W_std=gain, b_std=bias).kernel_fn(x, get="nngp"))
        weights = np.linalg.solve(K[:400, :400] + 0.01 * np.eye(400), labels)
        accuracy[hidden] = float(np.mean((K[400:, :400] @ weights).argmax(axis=1) == split[3][:500]))
    return accuracy


def _circle(angles: np.ndarray) -> np.ndarray:
    return math.sqrt(2) * np.stack([np.cos(angles), np.sin(angles)], axis=1)
