"""Bayes risk and the predictors that attain it: the conditional mean and the likeliest label."""

from typing import Annotated

import jax
import numpy as np

from leadline import data, learning
from leadline.evidence import (
    Choice,
    Range,
    at_least,
    claim,
    close,
    figure,
    frequency,
    instrument,
    printed,
    smaller,
)


def _wave(x):
    return np.sin(2 * np.pi * x[..., 0])


def _swell(x):
    return 0.2 + x[..., 0]


@instrument(
    "bayes-risk",
    says=(
        "The least risk of all functions, by quadrature over a known law: the mean conditional variance for squared "
        "loss, the mean probability of the less likely labels for zero-one loss. A high value means a noisy task, "
        "not a hard one to solve."
    ),
    formula=r"R^* = \mathbb{E}\, \mathrm{Var}(Y|X), \qquad R^* = \mathbb{E} \min_c P(Y \ne c \,|\, X)",
    sources=("cam",),
    shows=("learning.bayes_risk", "learning.bayes_predictor"),
)
def bayes_risk(
    key,
    mu: Annotated[float, Range(0.0, 4.0)] = 1.0,
    sigma: Annotated[float, Range(0.05, 5.0, log=True)] = 0.4,
    noise: Annotated[str, Choice("gaussian", "laplace", "exponential", "bimodal")] = "gaussian",
    samples: Annotated[int, Range(10, 200, log=True)] = 30,
):
    """Two unit Gaussians at ±μ, in one and two dimensions; homoscedastic and growing noise; learning curves."""
    from scipy.stats import norm

    line = learning.GaussianClasses(((-mu,), (mu,)), (-1, 1))
    exact = norm.cdf(-mu)
    yield close(learning.bayes_risk(line, loss="zero-one"), exact, "unit Gaussians at ±μ, against Φ(−μ)", atol=1e-6)
    a, b = 0.6 * mu, 0.8 * mu
    plane = learning.GaussianClasses(((-a, -b), (a, b)), (-1, 1))
    measured = learning.bayes_risk(plane, loss="zero-one", atol=2e-7)
    yield close(measured, exact, "the same in the plane, along (0.6, 0.8)", atol=1e-6)
    law = learning.RegressionLaw(_wave, learning.UniformInputs(), learning.noise_law(noise, sigma))
    variance = float(law.noise.var())
    yield close(learning.bayes_risk(law, loss="squared"), variance, "even noise, against its variance", rtol=1e-6)
    swelling = learning.RegressionLaw(_wave, learning.UniformInputs(), law.noise, _swell)
    exact = variance * (0.2**2 + 0.2 + 1 / 3)
    yield close(learning.bayes_risk(swelling, loss="squared"), exact, "noise growing like 0.2 + x", rtol=1e-6)
    best = learning.bayes_predictor(swelling, loss="squared")
    yield close(learning.population_risk(best, swelling), exact, "risk of the Bayes predictor", rtol=1e-6)
    ruler = learning.bayes_predictor(plane, loss="zero-one")
    labelled = learning.draw_sample(plane, 20_000, key=key)
    errors = int(np.sum(ruler(labelled.x) != labelled.y))
    yield frequency(errors, 20_000, measured, "error of the Bayes classifier on 20000 examples")

    # Conditioning is another matter: inputs squeezed to a thousandth leave R* as it is.
    squeezed = learning.RegressionLaw(lambda x: _wave(1000 * x), learning.UniformInputs(1, 0.0, 1e-3), law.noise)
    ratio = [np.linalg.cond(learning.population_moments(learning.affine(), law_).S) for law_ in (law, squeezed)]
    yield close(learning.bayes_risk(squeezed, loss="squared"), variance, "inputs shrunk to a thousandth: R*", rtol=1e-6)
    yield at_least(ratio[1] / ratio[0], 1e4, "growth of the condition of the second moments by that")

    sizes = np.unique(np.geomspace(samples, 30 * samples, 7).round().astype(int))
    task = learning.Task(law, learning.polynomials(5))
    rng = data.generator(jax.random.fold_in(key, 1))
    moments = learning.population_moments(task.hypotheses, law)
    curve = []
    for n in sizes:
        x, y = law.draw((60, int(n)), rng)
        curve.append(np.median(moments(task.hypotheses.fit(x, y))))
    yield at_least(curve, variance, "median risk of fitted quintics, against R*")
    yield figure.curves(
        f"The risk of fitted quintics falls from {curve[0]:.3g} to {curve[-1]:.3g}; the floor is R* = {variance:.3g}",
        x="n",
        y="risk",
        lines={"Bayes risk R*": (sizes, np.full(len(sizes), variance))},
        points={"median of 60 fits": (sizes, curve)},
        log="x",
    )


@claim(
    "bayes-regressor",
    says=(
        "For squared loss the best function is the conditional mean, its risk the mean conditional variance, and "
        "any other function exceeds it by its mean squared distance from it. Nearest-neighbour means tend to it."
    ),
    formula=r"f^*(x) = \mathbb{E}[Y|X=x], \qquad R(f) - R^* = \mathbb{E}\,(f(X) - f^*(X))^2",
    sources=("cam",),
    assumes=("E Y² is finite",),
    shows=("learning.nearest_neighbours_mean",),
)
def bayes_regressor(
    key,
    law: Annotated[str, Choice("heteroscedastic", "bimodal", "one-sided")] = "heteroscedastic",
    scale: Annotated[float, Range(0.1, 2.0, log=True)] = 0.5,
    bend: Annotated[float, Range(-2.0, 2.0)] = 0.5,
    samples: Annotated[int, Range(300, 2000, log=True)] = 1000,
):
    """f* + bend · x² and other perturbations, by quadrature on both sides; k = n^{2/3} nearest neighbours."""
    noises = {
        "heteroscedastic": learning.noise_law("gaussian", scale),
        "bimodal": learning.noise_law("bimodal", 0.3 * scale, scale),
        "one-sided": learning.noise_law("exponential", scale),
    }
    truth = learning.RegressionLaw(_wave, learning.UniformInputs(), noises[law], _swell)
    best = learning.bayes_predictor(truth, loss="squared")
    floor = learning.bayes_risk(truth, loss="squared")
    changes = {
        "f* + bend x²": lambda x: bend * x[..., 0] ** 2,
        "f* + cos 7x": lambda x: np.cos(7 * x[..., 0]),
        "0": lambda x: -best(x),
        "f* + jump": lambda x: np.where(x[..., 0] > 0.37, 0.5, -0.2),
    }
    scores = {}
    for name, change in changes.items():
        excess = learning.population_risk(lambda x, c=change: best(x) + c(x), truth, atol=1e-9) - floor
        distance = truth.expectation(lambda x, c=change: c(x) ** 2, atol=1e-9)
        scores[name] = excess, distance
        yield close(excess, distance, f"R(f) − R* for f = {name}, against E (f − f*)²", atol=1e-6)
    # The squared loss itself, integrated over the noise too, knows nothing of the conditional mean.
    direct = learning.population_risk(
        lambda x: best(x) + bend * x[..., 0] ** 2, truth, loss=lambda c, y: (c - y) ** 2, atol=1e-7
    )
    yield close(direct - floor, scores["f* + bend x²"][1], "the same by quadrature over x and noise", atol=1e-6)

    rng = data.generator(key)
    grid = np.linspace(0.02, 0.98, 60)[:, None]
    sizes = (samples // 10, samples, 10 * samples)
    errors = []
    for n in sizes:
        runs = []
        for _ in range(12):
            x, y = truth.draw((n,), rng)
            runs.append(np.mean((learning.nearest_neighbours_mean(x, y, round(n ** (2 / 3)))(grid) - best(grid)) ** 2))
        errors.append(runs)
    for few, many, n in zip(errors, errors[1:], sizes[1:], strict=False):
        yield smaller(many, few, f"mean square distance of the neighbours' mean from f*, n = {n}, against n/10")

    x, y = truth.draw((600,), rng)
    order = np.linspace(0, 1, 100)[:, None]
    yield figure.beside(
        f"Functions exceed R* = {floor:.3g} by their mean squared distance from E[Y|X]",
        figure.curves(
            f"The conditional mean of the {law} law and neighbours' means",
            x="x",
            y="y",
            lines={
                "E[Y|X = x]": (order[:, 0], best(order)),
                "f* + bend x²": (order[:, 0], best(order) + bend * order[:, 0] ** 2),
            },
            points={
                "examples": (x[:, 0], y),
                f"mean of neighbours, n = {sizes[-1]}": (
                    grid[::4, 0],
                    _neighbours(truth, rng, sizes[-1])(grid[::4]),
                ),
            },
        ),
        figure.curves(
            "Excess risk against distance",
            x="E (f − f*)²",
            y="R(f) − R*",
            lines={"equal": ([0, max(d for _, d in scores.values())],) * 2},
            points={name: ([distance], [excess]) for name, (excess, distance) in scores.items()},
        ),
    )


def _neighbours(law, rng, n):
    x, y = law.draw((n,), rng)
    return learning.nearest_neighbours_mean(x, y, round(n ** (2 / 3)))


@claim(
    "bayes-classifier",
    says=(
        "For zero-one loss and labels ±1 the best classifier is the sign of η = E[Y|X], with risk E(1 − |η|)/2. "
        "Where η = 0 either label is optimal, but it must be a label: a value 0 under the strict loss hides errors."
    ),
    formula=(
        r"f^* = \operatorname{sgn} \eta, \qquad R^* = \mathbb{E}\, \frac{1 - |\eta(X)|}{2}, "
        r"\qquad \eta = \mathbb{E}[Y|X]"
    ),
    sources=("cam",),
    assumes=("labels −1 and +1",),
)
def bayes_classifier(
    key,
    steepness: Annotated[float, Range(0.2, 10.0, log=True)] = 2.0,
    flat: Annotated[float, Range(0.05, 0.9)] = 0.3,
    classifiers: Annotated[int, Range(100, 1000)] = 1000,
):
    """η = tanh(steepness (x − 0.3)) on [−1, 1]; in the square tanh(steepness (x₁ − x₂²)), with a strip where η = 0."""
    line = learning.BinaryLaw(learning.UniformInputs(1, -1.0, 1.0), lambda x: np.tanh(steepness * (x[..., 0] - 0.3)))
    rule = learning.bayes_predictor(line, loss="zero-one")
    ends = np.logaddexp(0, -2 * steepness * np.array([0.7, 1.3])) + steepness * np.array([0.7, 1.3]) - np.log(2)
    exact = (1 - ends.sum() / (2 * steepness)) / 2  # the integral of tanh is log cosh
    yield close(learning.bayes_risk(line, loss="zero-one"), exact, "R* on the line, against E(1 − |η|)/2", atol=1e-6)
    yield close(learning.population_risk(rule, line, loss="zero-one"), exact, "risk of sgn η on the line", atol=1e-6)
    law = learning.BinaryLaw(learning.UniformInputs(2, -1.0, 1.0), lambda x: _eta(x, steepness, 0.0))
    best = learning.bayes_predictor(law, loss="zero-one")
    side = 100
    ticks = (np.arange(side) + 0.5) / side * 2 - 1
    grid = np.stack(np.meshgrid(ticks, ticks), axis=-1).reshape(-1, 2)
    # On the grid's own law every statement is a finite sum, hence exact.
    eta = law.eta(grid)
    floor = np.mean((1 - np.abs(eta)) / 2)
    ruled = np.mean(law.conditional_risk(best(grid), grid, "zero-one"))
    yield close(ruled, floor, "risk of sgn η on a grid of 10000 points of the square, against E(1 − |η|)/2", atol=1e-12)
    rng = data.generator(key)
    w, b, q = rng.normal(size=(2, classifiers)), rng.normal(size=classifiers), rng.normal(size=classifiers)
    scores = grid @ w + b + q * grid[:, :1] * grid[:, 1:]  # (points, classifiers)
    errors = np.mean((1 - np.where(scores > 0, 1, -1) * eta[:, None]) / 2, axis=0)
    yield at_least(errors, floor, f"risk of {classifiers} random quadratic classifiers, against R*")

    gap = _eta(grid, steepness, flat)
    tie = gap == 0
    both = [np.mean((1 - np.where(tie, label, np.sign(gap)) * gap) / 2) for label in (-1, 1)]
    level = np.mean((1 - np.abs(gap)) / 2)
    yield close(both, level, "risk where η = 0 on a strip, either label there", atol=1e-12)
    # The strict loss counts y f < 0 alone as an error: f = 0 on the strip is never wrong.
    strict = np.mean(np.where(tie, 0.0, (1 - np.abs(gap)) / 2))
    yield printed(
        at_least(strict, level, "strict 0-1 risk of sgn η with sgn(0) = 0, against R*"),
        "cam",
        "f* = sgn E[Y|X] with loss 1 iff y f(x) < 0 and sgn(0) = 0",
    )
    yield close(level - strict, np.mean(tie) / 2, "what the strict loss hides: half the mass of the strip", atol=1e-12)

    coarse = np.linspace(-1, 1, 41)
    points = np.stack(np.meshgrid(coarse, coarse), axis=-1)
    surface = law.eta(points)
    edge = np.linspace(-1, 1, 80)
    sample = learning.draw_sample(law, 150, key=key)
    wrong = best(sample.x) != sample.y
    yield figure.beside(
        f"The Bayes classifier errs with probability {floor:.4f}, the best of {classifiers} random ones with "
        f"{errors.min():.4f}",
        figure.plane(
            "η from −1 (orange) to +1 (blue), and η = 0",
            x="x₁",
            y="x₂",
            lines={"η = 0": (edge**2, edge)},
            points={"right": sample.x[~wrong], "Bayes error": sample.x[wrong]},
            regions=(coarse, coarse, surface),
            domain=((-1, 1), (-1, 1)),
        ),
        figure.plane(
            "Error density (1 − |η|)/2: highest (blue) on the boundary",
            x="x₁",
            y="x₂",
            lines={"η = 0": (edge**2, edge)},
            regions=(coarse, coarse, (1 - np.abs(surface)) / 2),
            domain=((-1, 1), (-1, 1)),
        ),
    )


def _eta(x, steepness, flat):
    height = x[..., 0] - x[..., 1] ** 2
    return np.where(np.abs(height) < flat / 2, 0.0, np.tanh(steepness * height))
