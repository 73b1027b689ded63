"""Stochastic problems and finite sums."""

from typing import Annotated

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from leadline import data, stochastic
from leadline.evidence import Choice, Range, at_most, close, distributed_as, figure, mean, model, slope


@model(
    "stochastic-optimisation-problem",
    says=(
        "Minimise E ℓ(w, ξ) when only draws of ξ are seen: by SGD, or by minimising the average over a sample. The "
        "newsvendor's best order is the demand's quantile at (price − cost)/price; both errors fall as 1/√N."
    ),
    formula=r"\min_w E_\xi[\ell(w, \xi)], \quad w^\star = F^{-1}\!\left(\frac{p - c}{p}\right)",
    sources=("penn",),
    shows=(
        "stochastic.Newsvendor", "stochastic.MeanEstimation", "stochastic.NoisyShortestPath",
        "stochastic.StochasticProblem", "stochastic.solve_by_sgd",
    ),
)  # fmt: skip
def stochastic_optimisation_problem(
    key,
    demand: Annotated[str, Choice("exponential", "uniform", "gamma")] = "exponential",
    cost: Annotated[float, Range(0.2, 0.8)] = 0.4,
    samples: Annotated[int, Range(3200, 12800, log=True)] = 6400,
    side: Annotated[int, Range(2, 5)] = 3,
):
    """Newsvendor at price 1 over 200 repetitions; the mean, where SGD with steps 1/t is the average; a noisy grid."""
    from scipy import stats

    law = {"exponential": stats.expon(), "uniform": stats.uniform(), "gamma": stats.gamma(3.0)}[demand]
    problem, rng = stochastic.Newsvendor(1.0, cost, law), data.generator(key)
    sizes = np.unique(np.geomspace(samples / 16, samples, 5).astype(int))
    errors = {"SGD, second half averaged": [], "sample average": []}
    for size in sizes:
        seen = problem.draw(rng, (200, size))
        steps = 3 * law.std() * np.arange(1, size + 1) ** -0.6
        answers = (stochastic.solve_by_sgd(problem, seen, steps), problem.average_answer(seen))
        for errors_of, answer in zip(errors.values(), answers, strict=True):
            errors_of.append(float(np.sqrt(np.mean((answer - problem.optimum) ** 2))))
    rank = problem.rank(int(sizes[-1]))
    yield distributed_as(
        law.cdf(answers[1][:, 0]),
        stats.beta(rank, sizes[-1] - rank + 1),
        "F(answer of the sample average), against the law of an order statistic",
    )
    for name, errors_of in errors.items():
        yield slope(sizes, errors_of, -0.5, f"error against samples, {name}", within=0.05)

    centre = stochastic.MeanEstimation(rng.standard_normal(3))
    seen = centre.draw(rng, (20, 100))
    last = stochastic.solve_by_sgd(centre, seen, 1 / np.arange(1.0, 101.0), tail=0)
    yield close(last, centre.average_answer(seen), "mean: SGD with steps 1/t, against the average", atol=1e-12)

    grid = stochastic.NoisyShortestPath(side, key=key)
    radius = np.linalg.norm(grid.start - grid.optimum)
    size = np.sqrt(np.sum(grid.costs**2) + np.sum(grid.incidence @ grid.means**2))  # √E‖gradient‖²
    seen = grid.draw(rng, (100, 400))
    steps = np.full(400, radius / (size * 20))
    excess = (stochastic.solve_by_sgd(grid, seen, steps, tail=1) - grid.optimum) @ grid.costs
    yield mean(excess, radius * size / 20, "excess cost of SGD's paths, against RG/√T", side="at most")
    best = grid.average_answer(grid.draw(rng, (20, 20000))) @ grid.costs
    yield at_most(best - grid.costs.min(), 0.1 * grid.costs.min(), "excess cost of the average's path, 20000 draws")

    guess = np.sqrt(cost * (1 - cost)) / law.pdf(problem.optimum[0]) / np.sqrt(sizes)
    yield figure.curves(
        f"Newsvendor: both errors fall as 1/√N, to {errors['sample average'][-1]:.2g} and "
        f"{errors['SGD, second half averaged'][-1]:.2g} of {problem.optimum[0]:.3g} at N = {sizes[-1]}",
        x="samples N",
        y="root mean square error of the order",
        lines={"√(α(1 − α)/N)/f(w*)": (sizes, guess)},
        points={name: (sizes, np.array(errors_of)) for name, errors_of in errors.items()},
        log="xy",
    )


def network_loss(w, x, y):
    """½(a·tanh(Bx) − y)² with three hidden units; w = (a, B) in one vector."""
    hidden = jnp.tanh(w[3:].reshape(3, -1) @ x)
    return (w[:3] @ hidden - y) ** 2 / 2


@eqx.filter_jit
def _everything(problem, w):
    return (
        problem(w),
        problem.losses(w),
        problem.gradient(w),
        problem.gradients(w),
        problem.covariance(w),
        problem.gram(w),
    )


@model(
    "finite-sum-objective",
    says=(
        "n losses of one vector: the full gradient is the mean of n component gradients and costs n of them, and "
        "the n × n Gram matrix of the centred gradients has the non-zero spectrum of C."
    ),
    formula=r"\ell(w) = \frac{1}{n}\sum_i \ell^i(w), \quad C = \frac{1}{n}\sum_i (g_i - g)(g_i - g)^T",
    sources=("penn",),
    shows=(
        "stochastic.FiniteSum",
        "stochastic.least_squares_sum",
        "stochastic.finite_softmax",
        "stochastic.six_points",
    ),
)
def finite_sum_objective(
    key,
    samples: Annotated[int, Range(4, 300)] = 30,
    dimension: Annotated[int, Range(1, 20)] = 5,
    model: Annotated[str, Choice("least squares", "network")] = "network",
):
    """Normal features, targets x·u + noise; the picture is exact: expected gaps of SGD and of gradient descent."""
    rng = data.generator(key)
    x = rng.standard_normal((samples, dimension))
    y = x @ rng.standard_normal(dimension) / np.sqrt(dimension) + 0.5 * rng.standard_normal(samples)
    squares = stochastic.least_squares_sum(x, y)
    problem = squares if model == "least squares" else stochastic.FiniteSum(network_loss, (x, y))
    w = jnp.asarray(rng.standard_normal(dimension if model == "least squares" else 3 + 3 * dimension))
    value, losses, gradient, gradients, covariance, gram = (np.asarray(part) for part in _everything(problem, w))
    size = float(np.abs(gradients).max())
    yield close(losses.mean(), value, "mean of the losses, against l", rtol=1e-12)
    yield close(gradients.mean(0), gradient, "mean of the component gradients, against the gradient", atol=1e-12 * size)
    wide, tall = (np.linalg.eigvalsh(matrix)[::-1] for matrix in (covariance, gram))
    rank = min(samples - 1, w.size)
    yield close(tall[:rank], wide[:rank], "eigenvalues, n × n against p × p", atol=1e-12 * wide[0])
    rest = np.concatenate([wide[rank:], tall[rank:], [0.0]])
    yield close(rest, 0.0, "eigenvalues beyond rank min(n − 1, p)", atol=1e-12 * wide[0])
    largest = squares.sample_smoothness().max()
    yield close(largest, np.max(np.sum(x**2, 1)), "L_max of least squares, against max ‖x‖²", rtol=1e-12)
    yield at_most(np.linalg.eigvalsh(x.T @ x / samples)[-1], largest, "L, against L_max", rtol=1e-12)

    moments = stochastic.LeastSquaresMoments(x[:, : min(dimension, 4)], y)
    passes, eta = 12, 0.25 / np.max(np.sum(moments.x**2, 1))
    start = np.zeros(moments.dimension)
    one = moments.path(start, np.full(passes * samples, eta)).gaps
    full = moments.path(start, np.full(passes, 1 / np.linalg.eigvalsh(moments.hessian)[-1]), np.inf).gaps
    stride = max(len(one) // 300, 1)
    yield figure.curves(
        f"At equal component gradients: after one pass SGD is at gap {one[samples]:.2g}, gradient descent at "
        f"{full[1]:.2g}; after {passes} passes at {one[-1]:.2g} and {full[-1]:.2g}",
        x="component gradients / n (passes)",
        y="expected gap",
        lines={"SGD, b = 1, step 0.25/L_max": (np.arange(len(one))[::stride] / samples, one[::stride])},
        points={"gradient descent, step 1/L": (np.arange(passes + 1), np.maximum(full, 1e-16))},
        log="y",
    )


@eqx.filter_jit
def _at(problem, points):
    return eqx.filter_vmap(lambda w: (problem(w), problem.covariance(w)[0, 0], problem.gradient(w)[0]))(points)


@model(
    "least-squares-1d",
    says=(
        "n parabolas ½(xᵢw − yᵢ)², each with its own minimiser yᵢ/xᵢ; their mean has w* = Σxy/Σx² and curvature "
        "mean x². SGD shuttles between the parabolas and the noise is the spread of x(xw − y)."
    ),
    formula=r"\ell(w) = \frac{1}{2n}\sum_i (x_i w - y_i)^2, \quad C(w) = \overline{(x(xw-y))^2} - \overline{x(xw-y)}^2",
    sources=("penn",),
    shows=("stochastic.least_squares_sum", "stochastic.sgd_run", "stochastic.six_points"),
)
def least_squares_1d(
    key,
    samples: Annotated[int, Range(2, 200)] = 8,
    spread: Annotated[float, Range(0.0, 2.0)] = 0.5,
    eta: Annotated[float, Range(0.01, 1.0, log=True)] = 0.5,
):
    """x uniform in [0.5, 1.5], y = 0.5 x + spread · normal; steps η/max x²."""
    rng = data.generator(key)
    x = rng.uniform(0.5, 1.5, samples)
    y = 0.5 * x + spread * rng.standard_normal(samples)
    problem = stochastic.least_squares_sum(x[:, None], y)
    known = problem.constants()
    best = float(x @ y / (x @ x))
    yield close(known.minimiser[0], best, "w*, against Σxy/Σx²", atol=1e-12)
    yield close([known.smoothness, known.strong_convexity], np.mean(x**2), "L and m, against mean x²", rtol=1e-12)
    points = best + rng.uniform(-3, 3, 50)
    values, noise, slopes = (np.asarray(part) for part in _at(problem, jnp.asarray(points)[:, None]))
    one = x * (x * points[:, None] - y)
    yield close(noise, np.mean(one**2, 1) - one.mean(1) ** 2, "C(w) at 50 points", atol=1e-10)
    yield close(slopes, np.mean(x**2) * (points - best), "gradient at 50 points, against H(w − w*)", atol=1e-10)
    gap = np.mean(x**2) * (points - best) ** 2 / 2
    yield close(values - known.minimum, gap, "gap at 50 points, against ½H(w − w*)²", atol=1e-10)

    own, steps = y / x, 60
    rows = stochastic.index_stream(samples, steps, key=key)
    path = np.asarray(stochastic.sgd_run(problem, np.array([best + 2.0]), eta / np.max(x**2), rows).points)[:, 0]
    low, high = min(own.min(), best - 2) - 0.3, max(own.max(), best + 2) + 0.3
    across = np.linspace(low, high, 121)
    shown = np.argsort(own)[np.unique(np.linspace(0, samples - 1, 5).astype(int))]
    mean_loss = np.mean((np.outer(across, x) - y) ** 2, 1) / 2
    yield figure.curves(
        f"{samples} parabolas with minimisers from {own.min():.3g} to {own.max():.3g}; SGD ends {steps} steps at "
        f"{path[-1]:.3g}, w* = {best:.3g}",
        x="w",
        y="loss",
        lines={f"example with minimiser {own[i]:.3g}": (across, (across * x[i] - y[i]) ** 2 / 2) for i in shown}
        | {"mean of all": (across, mean_loss)},
        points={
            "minimisers yᵢ/xᵢ": (own, np.zeros(samples)),
            "SGD": (path, np.interp(path, across, mean_loss)),
        },
    )
