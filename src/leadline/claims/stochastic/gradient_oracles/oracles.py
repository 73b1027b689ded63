"""Stochastic problems and finite sums."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from leadline import data, stochastic
from leadline.evidence import Int, OneOf, Real, at_most, close, distributed_as, mean, model, slope
from leadline.presentation import figure
from leadline.stochastic.problems.oracle_problems import MeanEstimation


@model(sources=("penn",), shows=("stochastic.StochasticProblem",))
def stochastic_optimisation_problem(
    key,
    demand: OneOf("exponential", "uniform", "gamma") = "exponential",
    cost: Real(0.2, 0.8) = 0.4,
    samples: Int(3200, 12800, log=True) = 6400,
    side: Int(2, 5) = 3,
):
    r"""Stochastic optimisation and the newsvendor.

    Minimise E ℓ(w, ξ) when only draws of ξ are seen: by SGD, or by minimising the average over a sample. The
    newsvendor's best order is the demand's quantile at (price − cost)/price; both errors fall as 1/√N.

    $$\min_w E_\xi[\ell(w, \xi)], \quad w^\star = F^{-1}\!\left(\frac{p - c}{p}\right)$$

    Check: 200 newsvendors at price 1; the mean, where SGD with step sizes 1/t is the average; a noisy grid.
    """
    from scipy import stats

    shape = {"exponential": stats.expon(), "uniform": stats.uniform(), "gamma": stats.gamma(3.0)}[demand]
    problem, rng = stochastic.Newsvendor(1.0, cost, shape), data.generator(key)
    sizes = np.unique(np.geomspace(samples / 16, samples, 5).astype(int))
    errors = {"SGD, second half averaged": [], "sample average": []}
    for size in sizes:
        seen = problem.draw(rng, (200, size))
        steps = 3 * shape.std() * np.arange(1, size + 1) ** -0.6
        answers = (stochastic.solve_by_sgd(problem, seen, steps), problem.average_answer(seen))
        for errors_of, answer in zip(errors.values(), answers, strict=True):
            errors_of.append(np.sqrt(np.mean((answer - problem.optimum) ** 2)))
    rank = problem.rank(int(sizes[-1]))
    order = stats.beta(rank, sizes[-1] - rank + 1)
    yield distributed_as(shape.cdf(answers[1][:, 0]), order, "F(answer of the average), against an order statistic")
    for name, errors_of in errors.items():
        yield slope(sizes, errors_of, -0.5, f"error against samples, {name}", within=0.05)
    centre = MeanEstimation(rng.standard_normal(3))
    seen = centre.draw(rng, (20, 100))
    last = stochastic.solve_by_sgd(centre, seen, 1 / np.arange(1.0, 101.0), tail=0)
    yield close(last, centre.average_answer(seen), "mean: SGD with step sizes 1/t, against the average", atol=1e-12)
    grid = stochastic.NoisyShortestPath(side, key=key)
    radius = np.linalg.norm(grid.start - grid.optimum)
    size = np.sqrt(np.sum(grid.costs**2) + np.sum(grid.incidence @ grid.means**2))  # √E‖gradient‖²
    seen = grid.draw(rng, (100, 400))
    steps = np.full(400, radius / (size * 20))
    excess = (stochastic.solve_by_sgd(grid, seen, steps, tail=1) - grid.optimum) @ grid.costs
    yield mean(excess, radius * size / 20, "excess cost of SGD's paths, against RG/√T", side="at most")
    best = grid.average_answer(grid.draw(rng, (20, 20000))) @ grid.costs
    yield at_most(best - grid.costs.min(), 0.1 * grid.costs.min(), "excess cost of the average's path, 20000 draws")
    guess = np.sqrt(cost * (1 - cost)) / shape.pdf(problem.optimum[0]) / np.sqrt(sizes)
    title = f"Newsvendor: both errors fall as 1/√N; the best order is {problem.optimum[0]:.3g}"
    lines = {"√(α(1 − α)/N)/f(w*)": (sizes, guess)}
    points = {name: (sizes, errors_of) for name, errors_of in errors.items()}
    yield figure.curves(title, "samples N", "root mean square error of the order", lines=lines, points=points, log="xy")


def network_loss(w, x, y):
    """½(a·tanh(Bx) − y)² with three hidden units; w = (a, B) in one vector."""
    return (w[:3] @ jnp.tanh(w[3:].reshape(3, -1) @ x) - y) ** 2 / 2


@eqx.filter_jit
def _everything(problem, w):
    parts = (problem, problem.losses, problem.gradient, problem.gradients, problem.covariance, problem.gram)
    return tuple(part(w) for part in parts)


@model(sources=("penn",), shows=("stochastic.finite_softmax",))
def finite_sum_objective(
    key, samples: Int(4, 300) = 30, dimension: Int(1, 20) = 5, model: OneOf("least squares", "network") = "network"
):
    r"""Finite-sum objective.

    n losses of one vector: the full gradient is the mean of n component gradients and costs n of them, and the n × n
    Gram matrix of the centred gradients has the non-zero spectrum of C.

    $$\ell(w) = \frac{1}{n}\sum_i \ell^i(w), \quad C = \frac{1}{n}\sum_i (g_i - g)(g_i - g)^T$$

    Check: Features are normal and targets are x·u plus noise. The picture shows exact expected gaps.
    """
    rng = data.generator(key)
    x = rng.standard_normal((samples, dimension))
    y = x @ rng.standard_normal(dimension) / np.sqrt(dimension) + 0.5 * rng.standard_normal(samples)
    squares = stochastic.least_squares_sum(x, y)
    problem = squares if model == "least squares" else stochastic.FiniteSum(network_loss, (x, y))
    w = jnp.asarray(rng.standard_normal(dimension if model == "least squares" else 3 + 3 * dimension))
    value, losses, gradient, gradients, covariance, gram = (np.asarray(part) for part in _everything(problem, w))
    size = np.abs(gradients).max()
    yield close(losses.mean(), value, "mean of the losses, against l", rtol=1e-12)
    yield close(gradients.mean(0), gradient, "mean of the component gradients, against the gradient", atol=1e-12 * size)
    wide, tall = (np.linalg.eigvalsh(matrix)[::-1] for matrix in (covariance, gram))
    rank = min(samples - 1, w.size)
    yield close(tall[:rank], wide[:rank], "eigenvalues of C: n × n Gram matrix, against p × p", atol=1e-12 * wide[0])
    rest = np.concatenate([wide[rank:], tall[rank:], [0.0]])
    yield close(rest, 0.0, "eigenvalues of C beyond rank min(n − 1, p)", atol=1e-12 * wide[0])
    largest = squares.sample_smoothness().max()
    yield close(largest, np.max(np.sum(x**2, 1)), "L_max of least squares, against max ‖x‖²", rtol=1e-12)
    yield at_most(np.linalg.eigvalsh(x.T @ x / samples)[-1], largest, "L, against L_max", rtol=1e-12)
    moments = stochastic.LeastSquaresMoments(x[:, : min(dimension, 4)], y)
    passes, eta = 12, 0.25 / np.max(np.sum(moments.x**2, 1))
    start = np.zeros(moments.dimension)
    one = moments.path(start, np.full(passes * samples, eta)).gaps
    full = moments.path(start, np.full(passes, 1 / np.linalg.eigvalsh(moments.hessian)[-1]), np.inf).gaps
    title = f"After {passes} passes over the data SGD is at gap {one[-1]:.2g}, gradient descent at {full[-1]:.2g}"
    lines = {"SGD, b = 1, step size 0.25/L_max": (np.arange(len(one)) / samples, one)}
    points = {"gradient descent, step size 1/L": (np.arange(passes + 1), full)}
    yield figure.curves(title, "component gradients / n (passes)", "expected gap", lines=lines, points=points, log="y")


@eqx.filter_jit
def _at(problem, points):
    return eqx.filter_vmap(lambda w: (problem(w), problem.covariance(w)[0, 0], problem.gradient(w)[0]))(points)


@model(sources=("penn",))
def least_squares_1d(key, samples: Int(2, 200) = 8, spread: Real(0.0, 2.0) = 0.5, eta: Real(0.01, 1.0, log=True) = 0.5):
    r"""One-dimensional least squares.

    n parabolas ½(xᵢw − yᵢ)², each with its own minimiser yᵢ/xᵢ; their mean has the minimiser w* = ∑ xᵢyᵢ/∑ xᵢ² and the
    mean of x² as its curvature. SGD shuttles between the parabolas, and the noise is the spread of x(xw − y).

    $$\ell(w) = \frac{1}{2n}\sum_i (x_i w - y_i)^2, \quad C(w) = \overline{(x(xw-y))^2} - \overline{x(xw-y)}^2$$

    Check: x is uniform in [0.5, 1.5], and y = 0.5 x plus `spread` times a standard normal. Step sizes are η/max x².
    """
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
    across = np.linspace(min(own.min(), best - 2) - 0.3, max(own.max(), best + 2) + 0.3, 121)
    mean_loss = np.mean((np.outer(across, x) - y) ** 2, 1) / 2
    lines = {"mean of all": (across, mean_loss)}
    for i in np.argsort(own)[np.unique(np.linspace(0, samples - 1, 5).astype(int))]:
        lines[f"example with minimiser {own[i]:.3g}"] = across, (across * x[i] - y[i]) ** 2 / 2
    seen = {"minimisers yᵢ/xᵢ": (own, np.zeros(samples)), "SGD": (path, np.interp(path, across, mean_loss))}
    title = f"{samples} parabolas with their minimisers; SGD ends {steps} steps at {path[-1]:.3g}, w* = {best:.3g}"
    yield figure.curves(title, "w", "loss", lines=lines, points=seen)
