"""Learning tasks: laws, classes, losses and algorithms behind one interface."""

from typing import Annotated

import jax
import numpy as np

from leadline import data, learning
from leadline.evidence import (
    Choice,
    Range,
    at_most,
    distributed_as,
    exactly,
    figure,
    mean,
    model,
)


def _wave(x):
    return np.sin(2 * np.pi * x[..., 0])


def _regression(noise: str, scale: float) -> learning.RegressionLaw:
    """sin(2πx) + noise on [0, 1]; "heteroscedastic" is Gaussian noise that grows with x."""
    if noise == "heteroscedastic":
        law = learning.noise_law("gaussian", scale)
        return learning.RegressionLaw(_wave, learning.UniformInputs(), law, lambda x: 0.5 + x[..., 0])
    law = learning.noise_law(noise, scale, 10.0 if noise == "student" else None)
    return learning.RegressionLaw(_wave, learning.UniformInputs(), law)


@model(
    "learning-task",
    says=(
        "A task is a class of functions, a loss, an algorithm that maps samples to functions of the class, and a law "
        "that can be sampled by a seed. With the law known, every risk and error term can be computed."
    ),
    formula=r"(\mathcal F, L, A), \quad z_1, \dots, z_n \sim P \text{ i.i.d.}, \quad f_Z = A(z_1, \dots, z_n)",
    sources=("cam", "penn"),
    shows=(
        "learning.Task",
        "learning.Learned",
        "learning.Sample",
        "learning.RegressionLaw",
        "learning.BinaryLaw",
        "learning.GaussianClasses",
        "learning.EmpiricalLaw",
        "learning.UniformInputs",
        "learning.NormalInputs",
        "learning.logistic_law",
        "learning.draw_sample",
        "learning.noise_law",
    ),
)
def learning_task(
    key,
    samples: Annotated[int, Range(20, 1000, log=True)] = 40,
    degree: Annotated[int, Range(0, 8)] = 3,
    noise: Annotated[
        str, Choice("gaussian", "laplace", "student", "exponential", "gamma", "bimodal", "heteroscedastic")
    ] = "gaussian",
    scale: Annotated[float, Range(0.01, 1.0, log=True)] = 0.3,
    steps: Annotated[int, Range(0, 300)] = 20,
):
    """Polynomials for sin(2πx) + noise; every built-in law, checked by 20000 examples, and a task of each kind."""
    law = _regression(noise, scale)
    task = learning.Task(law, learning.polynomials(degree))
    train, test = task.draw(samples, samples, key=key)
    again, _ = task.draw(samples, samples, key=key)
    yield exactly(np.column_stack([again.x, again.y]), np.column_stack([train.x, train.y]), "same seed, same data")
    yield exactly(int(np.isin(train.x, test.x).sum()), 0, "examples that the training and the test set share")

    x, y = learning.draw_sample(law, 20_000, key=jax.random.fold_in(key, 1))
    standard = (y - law.mean(x)) / np.sqrt(law.variance(x))
    yield mean(standard, 0.0, "E of the standardised noise, 20000 examples", deviation=1.0)
    yield mean(standard**2, 1.0, "E of its square")
    yield distributed_as(x[:, 0], lambda u: np.clip(u, 0, 1), "inputs uniform on [0, 1]")
    classes = learning.GaussianClasses(((-1.0, 0.0), (1.0, 0.0), (0.0, 2.0)), (-1, 1, 1), (0.5, 0.3, 0.2))
    logistic = learning.logistic_law(np.array([1.0, -0.5]), 0.3, learning.NormalInputs(2))
    for name, labels in {"Gaussian classes": classes, "logistic law": logistic}.items():
        share = labels.expectation(lambda x, labels=labels: labels.posterior(x)[..., 1], atol=1e-8)
        drawn = learning.draw_sample(labels, 20_000, key=jax.random.fold_in(key, 2))
        yield mean(drawn.y == 1, share, f"share of label +1, {name}")
        slope, _ = labels.target_moments(drawn.x)
        yield mean((drawn.y - slope) * drawn.x[:, 0], 0.0, f"E (Y − E[Y|X]) X₁, {name}")

    digits = data.digits()
    zeros = learning.EmpiricalLaw(digits.images[:, 20:24], np.where(digits.labels == 0, 1.0, -1.0))
    tasks = {
        f"{noise} regression": task,
        "real data": learning.Task(zeros, learning.affine(4)),
        "absolute loss": learning.Task(law, learning.cosine_series(3, sines=True), loss="absolute"),
        "hinge loss": learning.Task(classes, learning.affine(2), loss="hinge"),
        "logistic loss": learning.Task(logistic, learning.affine(2), loss="logistic"),
    }
    gaps = {}
    for i, (name, each) in enumerate(tasks.items()):
        (sample,) = each.draw(200, key=jax.random.fold_in(key, 10 + i))
        best = each.minimum(sample)
        gaps[name] = best.gap / max(1.0, best.risk)
    yield at_most(list(gaps.values()), 1e-8, f"empirical risk above its infimum: {', '.join(gaps)}")

    yield from _dashboard(key, task, train, steps)


def _dashboard(key, task, train, steps):
    population = learning.population_moments(task.hypotheses, task.law)
    floor, radius = learning.bayes_risk(task.law, loss="squared"), 3.0
    empirical = learning.empirical_moments(task.hypotheses.features(train.x), train.y)
    learned = learning.projected_descent(empirical, radius, steps)[-1]
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
    yield figure.beside(
        f"With n = {len(train.y)} the excess risk {terms.excess:.3g} stays below ε_approx + 2 ε_gen + ε_opt = "
        f"{terms.bound:.3g}",
        figure.curves(
            "The sample, the truth and the fit",
            x="x",
            y="y",
            lines={"E[Y|X = x]": (grid[:, 0], task.law.mean(grid)), "least squares": (grid[:, 0], fit)},
            points={"examples": (train.x[:, 0], train.y)},
        ),
        figure.curves(
            "Median risk of the fit over 100 samples",
            x="n",
            y="squared loss",
            lines={"best of the class": (sizes, np.full(6, best)), "Bayes risk": (sizes, np.full(6, floor))},
            points={"training risk": (sizes, np.median(risks[0], 1)), "test risk": (sizes, np.median(risks[1], 1))},
            log="x",
        ),
        figure.bars(
            f"The error terms in the ball ‖θ‖ ≤ {radius:g} after {steps} steps",
            x="",
            y="squared loss",
            values={
                "terms": {
                    "ε_approx": terms.approximation,
                    "ε_gen": terms.generalisation,
                    "ε_opt": terms.optimisation,
                    "excess": terms.excess,
                }
            },
            log=True,
        ),
        columns=3,
    )
