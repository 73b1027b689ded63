"""Control variates: unbiased at every fixed coefficient, best at one, and harmful at others."""

import jax.numpy as jnp
import numpy as np

from leadline import data, stochastic
from leadline.evidence import Int, Real, at_least, at_most, claim, close, mean, method, reference
from leadline.presentation import figure
from leadline.stochastic.variance_reduction.control_variates import best_coefficient
from leadline.stochastic.variance_reduction.next_directions import total_variance

_MEAN = np.e - 1  # of X = e^U, U uniform on [0, 1]
_VAR_X, _VAR_Y, _COV = (np.e**2 - 1) / 2 - _MEAN**2, 1 / 12, 1 - _MEAN / 2
_BEST = -_COV / _VAR_Y


@method(sources=("penn",))
def control_variate(key, c: Real(-4.0, 2.0) = -1.0, samples: Int(1000, 200_000, log=True) = 20_000):
    r"""Control variate estimator.

    X + c (Y − E Y) has the mean of X for every fixed c, and a variance that is a parabola in c. An optimal c estimated
    on the same samples costs a bias of order 1/n; on other samples it costs none.

    $$\hat X = X + c (Y - \mathrm{E} Y), \quad \mathrm{Var} \hat X = \mathrm{Var} X + c^2 \mathrm{Var} Y + 2 c\,
    \mathrm{Cov}(X, Y)$$

    Check: $\int_0^1 e^u\, du$ with Y = u, whose mean is ½; then 3000 small samples of 10 with an estimated c.
    """
    rng = data.generator(key)
    u = rng.random(samples)
    x = np.exp(u)
    made = stochastic.controlled(x, u, 0.5, c)
    variance = stochastic.controlled_variance(_VAR_X, _VAR_Y, _COV, c)
    yield mean(made, _MEAN, "mean of X̂, against e − 1", deviation=np.sqrt(variance))
    grid, fine = np.linspace(-4, 2, 25), np.linspace(-4, 2, 400)
    measured = [np.mean((stochastic.controlled(x, u, 0.5, k) - _MEAN) ** 2) for k in grid]
    for k in (-4.0, c, 2.0):
        squares = (stochastic.controlled(x, u, 0.5, k) - _MEAN) ** 2
        expected = stochastic.controlled_variance(_VAR_X, _VAR_Y, _COV, k)
        yield mean(squares, expected, f"variance of X̂ at c = {k:g}, against the parabola", confidence=1 - 1e-3 / 3)
    small = rng.random((3000, 10))
    same, split = (
        np.array([stochastic.controlled_mean(np.exp(row), row, 0.5, split=apart).estimate for row in small])
        for apart in (False, True)
    )
    yield mean(split, _MEAN, "estimated c, split samples: mean of 3000 estimates, against e − 1")
    nodes = (np.arange(2000) + 0.5) / 2000
    rest = np.exp(nodes) - _MEAN + _BEST * (nodes - 0.5)
    leading = -np.mean(rest * (nodes - 0.5) ** 2) / _VAR_Y / 10
    ratio, what = (np.mean(same) - _MEAN) / leading, "estimated c, same samples, n = 10: bias over its leading term"
    yield at_least(ratio, 0.5, f"{what}, at least ½")
    yield at_most(ratio, 2.0, f"{what}, at most 2")
    fixed = stochastic.controlled_mean(x, u, 0.5, c=c)
    yield close(fixed.estimate, np.mean(made), "the library's estimate, against the mean of X̂", rtol=1e-12)
    title = f"The variance falls from {_VAR_X:.3f} at c = 0 to {_VAR_X - _COV**2 / _VAR_Y:.4f} at c* = {_BEST:.2f}"
    lines = {"parabola": (fine, stochastic.controlled_variance(_VAR_X, _VAR_Y, _COV, fine))}
    points, rules = {"parabola": (grid, measured)}, {"c*": ("x", _BEST)}
    yield figure.curves(title, "coefficient c", "variance of X̂", lines=lines, points=points, rules=rules, log="y")


@claim(sources=("penn",))
def control_variate_optimal_coefficient(
    key, scale: Real(0.1, 10.0, log=True) = 2.0, samples: Int(2000, 100_000, log=True) = 20_000
):
    r"""Optimal control-variate coefficient.

    The best coefficient is −Cov(X, Y)/Var Y, and leaves the variance (1 − corr²) Var X: for eᵘ with Y = u, only 1.6 %
    of it.

    $$c^* = -\frac{\mathrm{Cov}(X, Y)}{\mathrm{Var} Y}, \qquad \mathrm{Var} \hat X = (1 - \mathrm{corr}^2)\,
    \mathrm{Var} X$$

    Check: Gaussian pairs with eleven correlations from −0.99 to 0.99, and the exact moments of eᵘ and u.
    """
    rng = data.generator(key)
    correlations = np.array([-0.99, -0.9, -0.7, -0.5, -0.2, 0.0, 0.2, 0.5, 0.7, 0.9, 0.99])
    first, second = rng.standard_normal((2, len(correlations), samples))
    y = scale * first
    x = correlations[:, None] * first + np.sqrt(1 - correlations**2)[:, None] * second
    ratios = []
    for k, r in enumerate(correlations):
        made = stochastic.controlled(x[k], y[k], 0.0, -r / scale)
        ratios.append(np.mean(made**2))
        what, spread = f"variance at c*, correlation {r:g}, against 1 − corr²", np.sqrt(2) * (1 - r**2)
        yield mean(made**2, 1 - r**2, what, deviation=spread, confidence=1 - 1e-3 / len(correlations))
    estimated = np.array([best_coefficient(a, b) for a, b in zip(x, y, strict=True)])
    error = np.sqrt((1 - correlations**2) / samples) / scale
    off = np.abs(estimated + correlations / scale) / error
    yield at_most(off, 4.0, "c* estimated from the samples: standard errors off")
    share = _COV**2 / (_VAR_X * _VAR_Y)
    yield reference(share, 0.983720, "corr² of eᵘ and u", digits=6)
    least = stochastic.controlled_variance(_VAR_X, _VAR_Y, _COV, _BEST) / _VAR_X
    yield reference(least, 0.016280, "variance of X̂ at c* over that of eᵘ", digits=5)
    around = [stochastic.controlled_variance(_VAR_X, _VAR_Y, _COV, _BEST + d) for d in (-0.5, -0.01, 0.01, 0.5)]
    yield at_least(around, least * _VAR_X, "variance at other coefficients, against that at c*", strict=True)
    fine = np.linspace(-1, 1, 101)
    title = f"At c* the variance is 1 − corr² of what it was: {1 - 0.9**2:.2f} at correlation 0.9"
    points = {"1 − corr²": (correlations, ratios)}
    yield figure.curves(title, "correlation", "variance ratio", lines={"1 − corr²": (fine, 1 - fine**2)}, points=points)


@claim(sources=("penn",))
def control_variate_can_hurt(key, samples: Int(20, 500) = 100, features: Int(1, 10) = 4, noise: Real(0.1, 3.0) = 1.0):
    r"""When a control variate hurts.

    At c* a control variate never raises the variance; at the fixed c = −1 of SAGA and SVRG it does whenever Cov(X, Y)
    < Var(Y)/2. So an old snapshot hurts: beyond a certain distance SVRG is noisier than SGD.

    $$\mathrm{Var}(X - Y) > \mathrm{Var} X \iff \mathrm{Cov}(X, Y) < \tfrac12 \mathrm{Var} Y$$
    """
    rng = data.generator(key)
    x, y = rng.standard_normal((2, 50_000))
    made = stochastic.controlled(x, y, 0.0, -1.0)
    yield mean(made**2, 2.0, "independent X, Y at c = −1: variance, against 2 Var X", deviation=np.sqrt(8))
    best = stochastic.controlled_variance(1, 1, 0, 0.0)
    yield at_most(best, 1.0, "independent X, Y at c* = 0: variance, against Var X")
    inputs = rng.standard_normal((samples, features))
    targets = inputs @ rng.standard_normal(features) + noise * rng.standard_normal(samples)
    w = np.linalg.lstsq(inputs, targets, rcond=None)[0]
    direction = rng.standard_normal(features)
    direction /= np.linalg.norm(direction)
    each = inputs * (inputs @ w - targets)[:, None]
    pull = inputs * (inputs @ direction)[:, None]  # g_i(w) − g_i(w_s) per unit of distance
    plain, growth = np.sum(np.var(each, axis=0)), np.sum(np.var(pull, axis=0))
    crossover = np.sqrt(plain / growth)
    problem = stochastic.least_squares_sum(inputs, targets)
    distances = crossover * np.array([0.1, 0.5, 0.99, 1.01, 2.0, 4.0])
    measured, excess = [], []
    for d in distances:
        snapshot, old = jnp.asarray(w - d * direction), each - d * pull
        measured.append(total_variance(stochastic.snapshot_directions(problem, jnp.asarray(w), snapshot)))
        covariance = np.sum(np.mean((each - each.mean(0)) * (old - old.mean(0)), axis=0))
        excess.append(np.sum(np.var(old, axis=0)) - 2 * covariance)
    measured, scale = np.array(measured), np.max(measured)
    yield close(measured, growth * distances**2, "variance of SVRG's direction, against d² × its value at 1", rtol=1e-8)
    yield close(measured - plain, excess, "SVRG's variance less SGD's, against Var Y − 2 Cov", atol=1e-10 * scale)
    signed = (measured - plain) * np.sign(distances - crossover)
    yield at_least(signed, 0.0, "margin of SVRG's variance above SGD's, beyond the crossover", strict=True)
    fine = crossover * np.geomspace(0.08, 5, 60)
    title = f"A snapshot further than {crossover:.2f} makes SVRG noisier than SGD"
    lines, points = {"predicted": (fine, growth * fine**2 / plain)}, {"predicted": (distances, measured / plain)}
    across, up, rules = "distance of the snapshot", "variance of SVRG / of SGD", {"as noisy as SGD": ("y", 1.0)}
    yield figure.curves(title, across, up, lines=lines, points=points, rules=rules, log="xy")
