"""Learning tasks: distributions, classes, losses and algorithms behind one interface."""

import jax
import numpy as np

from leadline import data, learning
from leadline.evidence import Int, OneOf, Real, at_most, distributed_as, exactly, mean, model
from leadline.learning.risk.error_terms import projected_descent
from leadline.learning.risk.input_distributions import NormalInputs
from leadline.presentation import figure


def _wave(x):
    return np.sin(2 * np.pi * x[..., 0])


def _regression(noise: str, scale: float) -> learning.RegressionDistribution:
    """sin(2πx) + noise on [0, 1]; "heteroscedastic" is Gaussian noise that grows with x."""
    if noise == "heteroscedastic":
        gaussian = learning.noise_distribution("gaussian", scale)
        return learning.RegressionDistribution(_wave, learning.UniformInputs(), gaussian, lambda x: 0.5 + x[..., 0])
    law = learning.noise_distribution(noise, scale, 10.0 if noise == "student" else None)
    return learning.RegressionDistribution(_wave, learning.UniformInputs(), law)


@model(
    sources=("cam", "penn"),
    shows=(
        "learning.RegressionDistribution",
        "learning.BinaryDistribution",
        "learning.UniformInputs",
        "learning.noise_distribution",
    ),
)
def learning_task(
    key,
    samples: Int(20, 1000, log=True) = 40,
    degree: Int(0, 8) = 3,
    noise: OneOf("gaussian", "laplace", "student", "exponential", "gamma", "bimodal", "heteroscedastic") = "gaussian",
    scale: Real(0.01, 1.0, log=True) = 0.3,
    num_steps: Int(0, 300) = 20,
):
    r"""Statistical learning task.

    A task is a class of functions, a loss, an algorithm that maps samples to functions of the class, and a
    distribution that can be sampled with a seed. With it known, every risk and error term can be computed.

    $$(\mathcal F, L, A), \quad z_1, \dots, z_n \sim P \text{ i.i.d.}, \quad f_Z = A(z_1, \dots, z_n)$$

    Check: Polynomials are fitted to sin(2πx) plus noise. Samplers are checked with 20,000 examples.
    """
    law = _regression(noise, scale)
    task = learning.LearningTask(law, learning.polynomials(degree))
    train, test = task.draw(samples, samples, key=key)
    again, _ = task.draw(samples, samples, key=key)
    yield exactly(np.column_stack([again.x, again.y]), np.column_stack([train.x, train.y]), "same seed, same data")
    yield exactly(np.isin(train.x, test.x).sum(), 0, "examples that the training and the test set share")
    x, y = learning.draw_sample(law, 20_000, key=jax.random.fold_in(key, 1))
    standard = (y - law.mean(x)) / np.sqrt(law.variance(x))
    yield mean(standard, 0.0, "E of the standardised noise, 20000 examples", deviation=1.0)
    yield mean(standard**2, 1.0, "E of the squared standardised noise")
    yield distributed_as(x[:, 0], lambda u: np.clip(u, 0, 1), "inputs uniform on [0, 1]")
    classes = learning.GaussianClasses(((-1.0, 0.0), (1.0, 0.0), (0.0, 2.0)), (-1, 1, 1), (0.5, 0.3, 0.2))
    logistic = learning.logistic_distribution(np.array([1.0, -0.5]), 0.3, NormalInputs(2))
    for name, labels in {"Gaussian classes": classes, "logistic distribution": logistic}.items():
        share = labels.expectation(lambda x, labels=labels: labels.posterior(x)[..., 1], atol=1e-8)
        drawn = learning.draw_sample(labels, 20_000, key=jax.random.fold_in(key, 2))
        yield mean(drawn.y == 1, share, f"share of label +1, {name}")
        slope, _ = labels.target_moments(drawn.x)
        yield mean((drawn.y - slope) * drawn.x[:, 0], 0.0, f"E (Y − E[Y|X]) X₁, {name}")
    digits = data.digits()
    zeros = learning.EmpiricalDistribution(digits.images[:, 20:24], np.where(digits.labels == 0, 1.0, -1.0))
    tasks = {
        f"{noise} regression": task,
        "real data": learning.LearningTask(zeros, learning.affine(4)),
        "absolute loss": learning.LearningTask(law, learning.cosine_series(3, sines=True), loss="absolute"),
        "hinge loss": learning.LearningTask(classes, learning.affine(2), loss="hinge"),
        "logistic loss": learning.LearningTask(logistic, learning.affine(2), loss="logistic"),
    }
    gaps = {}
    for i, (name, each) in enumerate(tasks.items()):
        (sample,) = each.draw(200, key=jax.random.fold_in(key, 10 + i))
        best = each.minimum(sample)
        gaps[name] = best.gap / max(1.0, best.risk)
    yield at_most(list(gaps.values()), 1e-8, f"empirical risk above its infimum: {', '.join(gaps)}")
    yield from _dashboard(key, task, train, num_steps)


def _dashboard(key, task, train, steps):
    population = learning.population_moments(task.hypotheses, task.law)
    floor, radius = learning.bayes_risk(task.law, loss="squared"), 3.0
    empirical = learning.empirical_moments(task.hypotheses.features(train.x), train.y)
    learned = projected_descent(empirical, radius, steps)[-1]
    terms = learning.linear_error_terms(learned, empirical, population, radius=radius, bayes_risk=floor)
    yield at_most(terms.excess, terms.bound, "R(f) − R* against ε_approx + 2 ε_gen + ε_opt", atol=1e-10)
    sizes = np.array([20, 40, 80, 160, 320, 640])
    risks = np.empty((2, len(sizes), 100))
    for i, n in enumerate(sizes):
        for j in range(100):
            (sample,) = task.draw(int(n), key=jax.random.fold_in(key, 1000 * i + j))
            theta = task.hypotheses.fit(sample.x, sample.y)
            risks[:, i, j] = np.mean((task.hypotheses.predict(theta, sample.x) - sample.y) ** 2), population(theta)
    best = float(learning.ball_minimum(population, 1e6).value)
    grid = np.linspace(0, 1, 200)[:, None]
    fit = task.hypotheses.predict(task.hypotheses.fit(train.x, train.y), grid)
    lines = {"E[Y|X = x]": (grid[:, 0], task.law.mean(grid)), "least squares": (grid[:, 0], fit)}
    points = {"examples": (train.x[:, 0], train.y)}
    sample = figure.curves("The sample, the truth and the fit", "x", "y", lines=lines, points=points)
    lines = {"best of the class": (sizes, np.full(6, best)), "Bayes risk": (sizes, np.full(6, floor))}
    points = {"training risk": (sizes, np.median(risks[0], 1)), "test risk": (sizes, np.median(risks[1], 1))}
    title = "Median risk of the fit over 100 samples"
    growing = figure.curves(title, "n", "squared loss", lines=lines, points=points, log="x")
    heights = {"ε_approx": terms.approximation, "ε_gen": terms.generalisation, "ε_opt": terms.optimisation}
    title = f"The error terms in the ball ‖θ‖ ≤ {radius:g} after {steps} steps"
    split = figure.bars(title, "", "squared loss", values={"terms": heights | {"excess": terms.excess}}, log=True)
    title = f"With n = {len(train.y)} the excess risk {terms.excess:.3g} stays below its bound {terms.bound:.3g}"
    yield figure.beside(title, sample, growing, split, columns=3)
