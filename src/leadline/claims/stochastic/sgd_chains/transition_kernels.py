"""SGD as a Markov chain: its exact kernel on a grid, and the isotropic Langevin model beside it."""

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import ndtr

from leadline import chains, stochastic
from leadline.chains.grid import on_grid
from leadline.data import generator
from leadline.evidence import Int, Real, at_most, close, distributed_as, instrument, mean, model, slope
from leadline.presentation import figure
from leadline.stochastic.problems.finite_sum import six_points


def _sgd_states(x, y, start, *, step, batch, steps, kept, runs, key) -> np.ndarray:
    """States of `runs` independent runs of SGD on 1-D least squares: the last `kept` of `steps` for each."""
    problem = stochastic.least_squares_sum(x[:, None], y)
    rows = generator(key).integers(len(x), size=(runs, steps, batch), dtype=np.int8)  # the longest stream has 10⁸
    points = stochastic.sgd_runs(problem, np.array([float(start)]), step, rows, every=1 if kept > 1 else steps)
    return np.asarray(points)[:, -kept:].ravel()


@instrument(sources=("penn",), shows=("chains.splitting_kernel", "chains.gaussian_kernel"))
def sgd_transition_kernel(key, step_size: Real(0.1, 0.6) = 0.3, batch: Int(1, 4) = 1, cells: Int(400, 1600) = 800):
    r"""Transition kernel of SGD.

    SGD on a finite sum jumps from w to $w - \frac{\eta}{b} \sum_{i \in B} g_i(w)$ with the probability of that batch
    B. On a grid in one dimension this is a matrix: its invariant distribution, its spectrum and its hitting times
    follow by linear algebra, and the mass that leaves the grid is reported.

    $$P(w, \cdot) = \sum_{B} p(B)\, \delta_{\,w - \frac{\eta}{b} \sum_{i \in B} g_i(w)}$$

    Check: On the six points, against an exact eigenfunction, the moments, and 10⁶ sampled states. η stays below 1/Lₘₐₓ
    = 0.69: at η = 1/xᵢ² the distribution has an atom, which no grid resolves.
    """
    problem, x, y, curvature, best = _six()
    # Var = (η²/b) E[x²r²] / (1 − rate), rate = (1 − ηH)² + (η²/b) Var[x²]; the cross term falls out, as E v = 0
    r = x * best - y
    rate = (1 - step_size * curvature) ** 2 + step_size**2 / batch * np.var(x**2)
    exact = step_size**2 / batch * np.mean(x**2 * r**2) / (1 - rate)
    reach = min(3.0, 14 * exact**0.5)

    def kernel_of(n):
        points = chains.even_grid(best - reach, best + reach, n + 1)
        gradients = x**2 * points[:, None] - x * y  # what on_grid(problem.gradients, points) gives
        return chains.sgd_kernel(gradients, points, step_size=step_size, batch=batch)

    kernel = kernel_of(cells)
    some = chains.even_grid(-1.0, 1.0, 3)
    found, known = on_grid(problem.gradients, some)[..., 0], x**2 * some[:, None] - x * y
    yield close(found, known, "component gradients on the grid, against x(xw − y)", atol=1e-13)
    yield close(kernel.chain.matrix.sum(axis=1), 1.0, "row sums of the kernel", atol=1e-12)
    law = chains.invariant_law(kernel.chain)
    yield at_most(kernel.leak(law), 1e-9, "mass of the invariant law that leaves the grid in a step")
    inner, away = kernel.leaked == 0, kernel.points - best
    image, shrunk = kernel.chain.matrix @ away, (1 - step_size * curvature) * away
    yield close(image[inner], shrunk[inner], "P(w − w*), against (1 − ηH)(w − w*)", atol=1e-12)
    yield close(law @ kernel.points, best, "mean of the invariant law, against w*", atol=1e-8)
    sizes = np.array([100, 200, 400, 800])
    laws = [(k, chains.invariant_law(k.chain)) for k in map(kernel_of, sizes)]
    errors = np.array([p @ (k.points - best) ** 2 - exact for k, p in laws])
    yield slope(2 * reach / sizes, errors, 2.0, "error of the variance against the cell size: order 2", within=0.25)
    # Splitting adds at most h²/4 a step, of which the chain forgets the share 1 − rate.
    own, most = law @ away**2 - exact, (2 * reach / cells) ** 2 / 4 / (1 - rate)
    yield at_most(own, most, "excess variance of the grid, against h²/4/(1 − rate)")
    burn, kept = int(np.ceil(20 / (step_size * curvature))), 500
    drawn = _sgd_states(x, y, best, step=step_size, batch=batch, steps=burn + kept, kept=kept, runs=2000, key=key)
    states = np.sort(drawn)
    edges = kernel.points[:-1] + np.diff(kernel.points) / 2  # compare between grid points
    gap = np.abs(np.searchsorted(states, edges) / len(states) - np.cumsum(law)[:-1]).max()
    yield at_most(gap, 0.01, f"Kolmogorov distance of the invariant law to {len(states)} sampled states")
    coarse = kernel_of(60)
    grid = coarse.points.round(2)
    title = "Transition matrix, 61 points"
    matrix = figure.heatmap(title, "next w", "w now", values=coarse.chain.dense, xs=grid, ys=grid, colour="P")
    samples = {"sampled": states[:: max(1, len(states) // 100_000)]}
    lines = {"exact law on the grid": _in_bins(kernel.points, law, states)}
    title = f"Invariant law: deviation {np.sqrt(exact):.4g}"
    settled = figure.histogram(title, "w", samples=samples, lines=lines, bins=60)
    title = f"Exact law of SGD, η = {step_size:g}, b = {batch}: Kolmogorov distance {gap:.2g} to 1e6 sampled states"
    yield figure.beside(title, matrix, settled)


def _six():
    """The six points as a problem, x, y, H and w*."""
    problem = six_points()
    x, y = (np.asarray(a, float).reshape(6, -1)[:, 0] for a in problem.arrays)
    return problem, x, y, np.mean(x**2), np.mean(x * y) / np.mean(x**2)


def _in_bins(points, law, states) -> tuple[np.ndarray, np.ndarray]:
    """The exact density averaged over the 60 bins of the histogram."""
    edges = np.linspace(states[0], states[-1], 61)
    cumulative = np.interp(edges, points + (points[1] - points[0]) / 2, np.cumsum(law))
    return (edges[:-1] + edges[1:]) / 2, np.diff(cumulative) / (edges[1] - edges[0])


@model(sources=("penn",), shows=("chains.langevin_paths",))
def sgd_isotropic_langevin_model(
    key, step_size: Real(0.05, 1.2) = 0.5, batch: Int(1, 16) = 1, runs: Int(1000, 20_000, log=True) = 4000
):
    r"""Isotropic Langevin model of SGD.

    Descent with isotropic Gaussian noise η/√b per step: on a parabola its stationary variance is $\frac{\eta/(2bh)}{1
    - \eta h/2}$. It is not SGD: real noise depends on w and on the direction, and vanishes where all samples are
    fitted.

    $$W^{+} = W - \eta\, g(W) + \frac{\eta}{\sqrt b}\, \xi, \quad \xi \sim N(0, I)$$

    Assumes: ηh < 2.
    """
    _, x, y, curvature, best = _six()
    noise = np.sqrt(np.mean((x * (x * best - y)) ** 2))
    langevin = chains.IsotropicLangevin(step_size, float(batch), noise)
    exact = langevin.stationary_variance(curvature)
    yield close(langevin.beta, 2 * batch / (step_size * noise**2), "β, against 2b/(ηs²)", rtol=1e-12)
    shrink = 1 - step_size * curvature
    settled = langevin.deviation**2 / (1 - shrink**2)
    yield close(exact, settled, "stationary variance, against the recursion", rtol=1e-12)
    reach = 9 * exact**0.5
    size = int(np.ceil(4 * reach / langevin.deviation)) + 1
    points = chains.even_grid(best - reach, best + reach, size)
    kernel = chains.gaussian_kernel(points, points - step_size * curvature * (points - best), langevin.deviation)
    law = chains.invariant_law(kernel.chain)
    yield close(law @ (points - best) ** 2, exact, f"variance of the exact kernel on {size} points", rtol=1e-6)
    burn = int(np.ceil(30 / (step_size * curvature)))
    noise = langevin.deviation * generator(key).standard_normal((1, burn, runs, 1))
    w = chains.langevin_paths(lambda w: curvature * (w - best), jnp.full((runs, 1), best), step_size, noise)[-1, :, 0]
    yield mean((w - best) ** 2, exact, f"squared deviation of {runs} runs after {burn} steps", deviation=2**0.5 * exact)
    yield distributed_as(w, lambda s: ndtr((s - best) / exact**0.5), f"{runs} runs, against the normal distribution")
    keys = jax.random.split(key)
    real = _sgd_states(x, y, best, step=step_size, batch=batch, steps=burn, kept=1, runs=runs, key=keys[0])
    grow = shrink**2 + step_size**2 / batch * np.var(x**2)
    settled = langevin.deviation**2 / (1 - grow)
    yield mean((real - best) ** 2, settled, "squared deviation of real SGD, state-dependent noise")
    fitted = _sgd_states(x, 0.7 * x, 2.0, step=step_size, batch=batch, steps=40 * burn, kept=1, runs=100, key=keys[1])
    yield at_most(np.abs(fitted - 0.7).max(), 1e-12, "largest error of SGD on data that w = 0.7 fits exactly")
    grid = np.linspace(best - 4 * exact**0.5, best + 4 * exact**0.5, 201)
    density = np.exp(-((grid - best) ** 2) / (2 * exact)) / np.sqrt(2 * np.pi * exact)
    title = f"Same loss, same noise at w*: variance {exact:.4g} in the model, {np.mean((real - best) ** 2):.4g} in SGD"
    samples = {"Langevin model": w, "real SGD": real}
    yield figure.histogram(title, "w", samples=samples, lines={"stationary law of the model": (grid, density)})
