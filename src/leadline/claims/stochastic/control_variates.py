"""Control variates: unbiased at every fixed coefficient, best at one, and harmful at others."""

from typing import Annotated

import jax.numpy as jnp
import numpy as np

from leadline import data, stochastic
from leadline.evidence import Range, at_least, at_most, claim, close, exactly, figure, mean, method, printed

_MEAN = np.e - 1  # of X = e^U, U uniform on [0, 1]
_VAR_X = (np.e**2 - 1) / 2 - _MEAN**2
_VAR_Y = 1 / 12
_COV = 1 - _MEAN / 2
_BEST = -_COV / _VAR_Y


@method(
    "control-variate",
    says=(
        "X + c (Y − E Y) has the mean of X for every fixed c, and a variance that is a parabola in c. An optimal c "
        "estimated on the same samples costs a bias of order 1/n; on other samples it costs none."
    ),
    formula=r"\hat X = X + c (Y - \mathrm{E} Y), \quad \mathrm{Var} \hat X = \mathrm{Var} X + c^2 \mathrm{Var} Y "
    r"+ 2 c\, \mathrm{Cov}(X, Y)",
    sources=("penn",),
    shows=("stochastic.controlled", "stochastic.controlled_variance", "stochastic.controlled_mean"),
)
def control_variate(
    key,
    c: Annotated[float, Range(-4.0, 2.0)] = -1.0,
    samples: Annotated[int, Range(1000, 200_000, log=True)] = 20_000,
):
    """∫₀¹ eᵘ du with Y = u, whose mean is ½; then 3000 small samples of 10 with an estimated c."""
    rng = data.generator(key)
    u = rng.random(samples)
    x = np.exp(u)
    made = stochastic.controlled(x, u, 0.5, c)
    variance = stochastic.controlled_variance(_VAR_X, _VAR_Y, _COV, c)
    yield mean(made, _MEAN, "mean of X̂, against e − 1", deviation=np.sqrt(variance))
    grid = np.linspace(-4, 2, 25)
    fine = np.linspace(-4, 2, 400)
    measured = np.array([np.mean((stochastic.controlled(x, u, 0.5, k) - _MEAN) ** 2) for k in grid])
    for k in (-4.0, c, 2.0):
        squares = (stochastic.controlled(x, u, 0.5, k) - _MEAN) ** 2
        expected = stochastic.controlled_variance(_VAR_X, _VAR_Y, _COV, k)
        yield mean(squares, expected, f"variance of X̂ at c = {k:g}, against the parabola", confidence=1 - 1e-3 / 3)

    small = rng.random((3000, 10))
    kinds = {"same": False, "split": True}
    found = {
        name: np.array([stochastic.controlled_mean(np.exp(row), row, 0.5, split=split).estimate for row in small])
        for name, split in kinds.items()
    }
    yield mean(found["split"], _MEAN, "estimated c, split samples: mean of 3000 estimates, against e − 1")
    bias = float(np.mean(found["same"]) - _MEAN)
    nodes = (np.arange(2000) + 0.5) / 2000
    rest = np.exp(nodes) - _MEAN + _BEST * (nodes - 0.5)
    leading = -float(np.mean(rest * (nodes - 0.5) ** 2)) / _VAR_Y / 10
    yield at_least(bias / leading, 0.5, "estimated c, same samples: bias over its leading term of order 1/n, n = 10")
    yield at_most(bias / leading, 2.0, "the same, from above")
    fixed = stochastic.controlled_mean(x, u, 0.5, c=c)
    yield close(fixed.estimate, np.mean(made), "the library's estimate, against the mean of X̂", rtol=1e-12)
    yield figure.curves(
        f"The variance falls from {_VAR_X:.3f} at c = 0 to {_VAR_X - _COV**2 / _VAR_Y:.4f} at c* = {_BEST:.2f}",
        x="coefficient c",
        y="variance of X̂",
        lines={"parabola": (fine, stochastic.controlled_variance(_VAR_X, _VAR_Y, _COV, fine))},
        points={"parabola": (grid, measured)},
        rules={"c*": ("x", _BEST)},
        log="y",
    )


@claim(
    "control-variate-optimal-coefficient",
    says=(
        "The best coefficient is −Cov(X, Y)/Var Y, and leaves the variance (1 − corr²) Var X: for eᵘ with Y = u only "
        "1.6 % of it."
    ),
    formula=r"c^* = -\frac{\mathrm{Cov}(X, Y)}{\mathrm{Var} Y}, \qquad "
    r"\mathrm{Var} \hat X = (1 - \mathrm{corr}^2)\, \mathrm{Var} X",
    sources=("penn",),
)
def control_variate_optimal_coefficient(
    key,
    scale: Annotated[float, Range(0.1, 10.0, log=True)] = 2.0,
    samples: Annotated[int, Range(2000, 100_000, log=True)] = 20_000,
):
    """Gaussian pairs with eleven correlations from −0.99 to 0.99, and the exact moments of eᵘ and u."""
    rng = data.generator(key)
    correlations = np.array([-0.99, -0.9, -0.7, -0.5, -0.2, 0.0, 0.2, 0.5, 0.7, 0.9, 0.99])
    first, second = rng.standard_normal((2, len(correlations), samples))
    y = scale * first
    x = correlations[:, None] * first + np.sqrt(1 - correlations**2)[:, None] * second
    ratios = []
    for k, r in enumerate(correlations):
        made = stochastic.controlled(x[k], y[k], 0.0, -r / scale)
        ratios.append(np.mean(made**2))
        yield mean(
            made**2, 1 - r**2, f"variance at c*, correlation {r:g}, against 1 − corr²",
            deviation=np.sqrt(2) * (1 - r**2), confidence=1 - 1e-3 / len(correlations),
        )  # fmt: skip
    estimated = np.array([stochastic.best_coefficient(a, b) for a, b in zip(x, y, strict=True)])
    error = np.sqrt((1 - correlations**2) / samples) / scale
    yield at_most(
        np.abs(estimated + correlations / scale) / error, 4.0, "c* estimated from the samples: standard errors off"
    )
    share = _COV**2 / (_VAR_X * _VAR_Y)
    yield close(share, 0.983720, "corr² of eᵘ and u", atol=5e-7)
    least = stochastic.controlled_variance(_VAR_X, _VAR_Y, _COV, _BEST) / _VAR_X
    yield close(least, 0.016280, "variance at c* over that of eᵘ", atol=5e-7)
    around = [stochastic.controlled_variance(_VAR_X, _VAR_Y, _COV, _BEST + d) for d in (-0.5, -0.01, 0.01, 0.5)]
    yield at_least(np.array(around), least * _VAR_X, "variance at other coefficients, against that at c*", strict=True)
    fine = np.linspace(-1, 1, 101)
    yield figure.curves(
        f"At c* the variance is 1 − corr² of what it was: {1 - 0.9**2:.2f} at correlation 0.9",
        x="correlation",
        y="variance ratio",
        lines={"1 − corr²": (fine, 1 - fine**2)},
        points={"1 − corr²": (correlations, ratios)},
    )


@claim(
    "control-variate-can-hurt",
    says=(
        "At c* a control variate never raises the variance; at the fixed c = −1 of SAGA and SVRG it does whenever "
        "Cov(X, Y) < Var(Y)/2. So an old snapshot hurts: beyond a distance SVRG is noisier than SGD."
    ),
    formula=r"\mathrm{Var}(X - Y) > \mathrm{Var} X \iff \mathrm{Cov}(X, Y) < \tfrac12 \mathrm{Var} Y",
    sources=("penn",),
)
def control_variate_can_hurt(
    key,
    samples: Annotated[int, Range(20, 500)] = 100,
    features: Annotated[int, Range(1, 10)] = 4,
    noise: Annotated[float, Range(0.1, 3.0)] = 1.0,
):
    """Independent normal X and Y; then least squares at w*, with the snapshot at growing distances along a line."""
    rng = data.generator(key)
    x, y = rng.standard_normal((2, 50_000))
    made = stochastic.controlled(x, y, 0.0, -1.0)
    yield mean(made**2, 2.0, "independent X, Y at c = −1: variance, against 2 Var X", deviation=np.sqrt(8))
    yield printed(
        at_most(stochastic.controlled_variance(1, 1, 0, -1), 1.0, "variance at c = −1, independent Y, against Var X"),
        "penn", "the variance never increases, whatever Y",
    )  # fmt: skip
    best = stochastic.controlled_variance(1, 1, 0, 0.0)
    yield at_most(best, 1.0, "the same at c* = 0")

    inputs = rng.standard_normal((samples, features))
    targets = inputs @ rng.standard_normal(features) + noise * rng.standard_normal(samples)
    w = np.linalg.lstsq(inputs, targets, rcond=None)[0]
    direction = rng.standard_normal(features)
    direction /= np.linalg.norm(direction)
    each = inputs * (inputs @ w - targets)[:, None]
    pull = inputs * (inputs @ direction)[:, None]  # g_i(w) − g_i(w_s) per unit of distance
    plain = float(np.sum(np.var(each, axis=0)))
    growth = float(np.sum(np.var(pull, axis=0)))
    crossover = np.sqrt(plain / growth)
    problem = stochastic.least_squares_sum(inputs, targets)
    distances = crossover * np.array([0.1, 0.5, 0.99, 1.01, 2.0, 4.0])
    measured, covariances, spreads = [], [], []
    for d in distances:
        snapshot = w - d * direction
        directions = stochastic.snapshot_directions(problem, jnp.asarray(w), jnp.asarray(snapshot))
        measured.append(float(stochastic.total_variance(directions)))
        old = each - d * pull
        covariances.append(np.sum(np.mean((each - each.mean(0)) * (old - old.mean(0)), axis=0)))
        spreads.append(np.sum(np.var(old, axis=0)))
    yield close(measured, growth * distances**2, "variance of SVRG's direction, against d² × its value at 1", rtol=1e-8)
    hurts = np.array(measured) > plain
    yield exactly(hurts, np.array(covariances) < np.array(spreads) / 2, "noisier than SGD, against Cov < Var(Y)/2")
    yield exactly(hurts, distances > crossover, "noisier than SGD, against d beyond the crossover")
    fine = crossover * np.geomspace(0.08, 5, 60)
    yield figure.curves(
        f"A snapshot further than {crossover:.2f} makes SVRG noisier than SGD",
        x="distance of the snapshot",
        y="variance of SVRG / variance of SGD",
        lines={"predicted": (fine, growth * fine**2 / plain)},
        points={"predicted": (distances, np.array(measured) / plain)},
        rules={"as noisy as SGD": ("y", 1.0)},
        log="xy",
    )
