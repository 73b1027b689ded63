"""SGD as a Markov chain: its exact kernel on a grid, and the isotropic Langevin model beside it."""

from typing import Annotated

import numpy as np

from leadline import chains, stochastic
from leadline.data import generator
from leadline.evidence import Range, at_most, close, distributed_as, figure, instrument, mean, model, slope


def _sgd_states(x, y, start, *, step, batch, steps, kept, runs, rng) -> np.ndarray:
    """States of `runs` independent runs of SGD on 1-D least squares: the last `kept` of `steps` for each."""
    w, late = np.full(runs, float(start)), []
    for t in range(steps):
        i = rng.integers(len(x), size=(batch, runs))
        w = w - step * np.mean(x[i] * (x[i] * w - y[i]), axis=0)
        if t >= steps - kept:
            late.append(w)
    return np.concatenate(late)


@instrument(
    "sgd-transition-kernel",
    says=(
        "SGD on a finite sum jumps from w to w − η(1/b)Σg with the probability of that batch. On a grid in one "
        "dimension this is a matrix: its invariant law, its spectrum and its hitting times follow by linear "
        "algebra, and the mass that leaves the grid is reported."
    ),
    formula=r"P(w, \cdot) = \sum_{B} p(B)\, \delta_{\,w - \frac{\eta}{b} \sum_{i \in B} g_i(w)}",
    sources=("penn",),
    shows=(
        "chains.sgd_kernel",
        "chains.splitting_kernel",
        "chains.gaussian_kernel",
        "chains.GridKernel",
        "chains.on_grid",
        "chains.even_grid",
        "chains.invariant_law",
    ),
)
def sgd_transition_kernel(
    key,
    step: Annotated[float, Range(0.1, 0.6)] = 0.3,
    batch: Annotated[int, Range(1, 4)] = 1,
    cells: Annotated[int, Range(400, 1600)] = 800,
):
    """The six-point problem: kernel, exact eigenfunction, variance against moments, law against 1e6 sampled states.

    Steps stay below 1/L_max = 0.69: at η = 1/xᵢ² the law has an atom, which no grid resolves.
    """
    problem = stochastic.six_points()
    x, y = (np.asarray(a, float).reshape(6, -1)[:, 0] for a in problem.arrays)
    curvature, best = float(np.mean(x**2)), float(np.mean(x * y) / np.mean(x**2))
    # Var = (η²/b) E[x²r²] / (1 − rate), rate = (1 − ηH)² + (η²/b) Var[x²]; the cross term falls out, as E v = 0
    r = x * best - y
    rate = (1 - step * curvature) ** 2 + step**2 / batch * np.var(x**2)
    exact = step**2 / batch * np.mean(x**2 * r**2) / (1 - rate)
    reach = min(3.0, 14 * exact**0.5)

    def kernel_of(n):
        points = chains.even_grid(best - reach, best + reach, n + 1)
        gradients = x**2 * points[:, None] - x * y  # what on_grid(problem.gradients, points) gives
        return chains.sgd_kernel(gradients, points, step=step, batch=batch)

    kernel = kernel_of(cells)
    some = chains.even_grid(-1.0, 1.0, 3)
    yield close(
        chains.on_grid(problem.gradients, some)[..., 0], x**2 * some[:, None] - x * y, "component gradients", atol=1e-13
    )
    yield close(np.asarray(kernel.chain.matrix.sum(axis=1)), 1.0, "row sums", atol=1e-12)
    law = chains.invariant_law(kernel.chain)
    yield at_most(kernel.leak(law), 1e-9, "mass of the invariant law that leaves the grid in a step")
    inner = kernel.leaked == 0
    image = kernel.chain.matrix @ (kernel.points - best)
    yield close(
        image[inner], (1 - step * curvature) * (kernel.points - best)[inner], "P(w − w*), against (1 − ηH)(w − w*)",
        atol=1e-12,
    )  # fmt: skip
    yield close(law @ kernel.points, best, "mean of the invariant law, against w*", atol=1e-8)
    sizes = np.array([100, 200, 400, 800])
    laws = [(k, chains.invariant_law(k.chain)) for k in map(kernel_of, sizes)]
    errors = np.array([p @ (k.points - best) ** 2 - exact for k, p in laws])
    yield slope(2 * reach / sizes, errors, 2.0, "error of the variance against the cell size: order 2", within=0.25)
    # Splitting adds at most h²/4 a step, of which the chain forgets the share 1 − rate.
    own = law @ (kernel.points - best) ** 2 - exact
    yield at_most(
        own, (2 * reach / cells) ** 2 / 4 / (1 - rate), "excess variance of the grid, against h²/4/(1 − rate)"
    )

    rng = generator(key)
    burn, kept = int(np.ceil(20 / (step * curvature))), 500
    states = np.sort(_sgd_states(x, y, best, step=step, batch=batch, steps=burn + kept, kept=kept, runs=2000, rng=rng))
    edges = kernel.points[:-1] + np.diff(kernel.points) / 2  # compare between grid points
    gap = np.abs(np.searchsorted(states, edges) / len(states) - np.cumsum(law)[:-1]).max()
    yield at_most(gap, 0.01, f"Kolmogorov distance of the invariant law to {len(states)} sampled states")

    coarse = kernel_of(60)
    yield figure.beside(
        f"Exact law of SGD, step {step:g}, batch {batch}: Kolmogorov distance {gap:.2g} to 1e6 sampled states",
        figure.heatmap(
            "Transition matrix, 61 points", x="next w", y="w now", values=coarse.chain.dense,
            xs=coarse.points.round(2), ys=coarse.points.round(2), colour="P",
        ),
        figure.histogram(
            f"Invariant law: deviation {np.sqrt(exact):.4g}",
            x="w",
            samples={"sampled": states[:: max(1, len(states) // 100_000)]},
            lines={"exact law on the grid": _in_bins(kernel.points, law, states)},
            bins=60,
        ),
    )  # fmt: skip


def _in_bins(points, law, states) -> tuple[np.ndarray, np.ndarray]:
    """The exact density averaged over the 60 bins of the histogram."""
    edges = np.linspace(states[0], states[-1], 61)
    cumulative = np.interp(edges, points + (points[1] - points[0]) / 2, np.cumsum(law))
    return (edges[:-1] + edges[1:]) / 2, np.diff(cumulative) / (edges[1] - edges[0])


@model(
    "sgd-isotropic-langevin-model",
    says=(
        "Descent with isotropic Gaussian noise η/√b per step: on a parabola its stationary variance is (η/2bh)/(1"
        " − ηh/2). It is not SGD: real noise depends on w and on the direction, and vanishes where all samples "
        "are fitted."
    ),
    formula=r"W^{+} = W - \eta\, g(W) + \frac{\eta}{\sqrt b}\, \xi, \quad \xi \sim N(0, I)",
    sources=("penn",),
    assumes=("ηh < 2",),
    shows=("chains.IsotropicLangevin", "chains.langevin_paths"),
)
def sgd_isotropic_langevin_model(
    key,
    step: Annotated[float, Range(0.05, 1.2)] = 0.5,
    batch: Annotated[int, Range(1, 16)] = 1,
    runs: Annotated[int, Range(1000, 20_000, log=True)] = 4000,
):
    """On the six-point loss, with the noise of SGD at w*; then on data that one line fits exactly."""
    problem = stochastic.six_points()
    x, y = (np.asarray(a, float).reshape(6, -1)[:, 0] for a in problem.arrays)
    curvature, best = float(np.mean(x**2)), float(np.mean(x * y) / np.mean(x**2))
    noise = float(np.sqrt(np.mean((x * (x * best - y)) ** 2)))
    langevin = chains.IsotropicLangevin(step, float(batch), noise)
    exact = langevin.stationary_variance(curvature)
    yield close(langevin.beta, 2 * batch / (step * noise**2), "β, against 2b/(ηs²)", rtol=1e-12)
    shrink = 1 - step * curvature
    yield close(
        exact, langevin.deviation**2 / (1 - shrink**2), "stationary variance, against the recursion", rtol=1e-12
    )
    reach = 9 * exact**0.5
    size = int(np.ceil(4 * reach / langevin.deviation)) + 1
    points = chains.even_grid(best - reach, best + reach, size)
    kernel = chains.gaussian_kernel(points, points - step * curvature * (points - best), langevin.deviation)
    law = chains.invariant_law(kernel.chain)
    yield close(law @ (points - best) ** 2, exact, f"variance of the exact kernel on {size} points", rtol=1e-6)

    rng = generator(key)
    burn = int(np.ceil(30 / (step * curvature)))
    w = np.full(runs, best)
    for _ in range(burn):
        w = w - step * curvature * (w - best) + langevin.deviation * rng.standard_normal(runs)
    yield mean((w - best) ** 2, exact, f"squared deviation of {runs} runs after {burn} steps", deviation=2**0.5 * exact)
    yield distributed_as(w, lambda s: _normal((s - best) / exact**0.5), f"law of {runs} runs, against the normal law")
    real = _sgd_states(x, y, best, step=step, batch=batch, steps=burn, kept=1, runs=runs, rng=rng)
    grow = shrink**2 + step**2 / batch * np.var(x**2)
    yield mean(
        (real - best) ** 2, langevin.deviation**2 / (1 - grow), "squared deviation of real SGD, state-dependent noise"
    )
    fitted = _sgd_states(x, 0.7 * x, 2.0, step=step, batch=batch, steps=40 * burn, kept=1, runs=100, rng=rng)
    yield at_most(np.abs(fitted - 0.7).max(), 1e-12, "largest error of SGD on data that w = 0.7 fits exactly")

    grid = np.linspace(best - 4 * exact**0.5, best + 4 * exact**0.5, 201)
    density = np.exp(-((grid - best) ** 2) / (2 * exact)) / np.sqrt(2 * np.pi * exact)
    yield figure.histogram(
        f"Same loss, same noise at w*: variance {exact:.4g} in the model, {np.mean((real - best) ** 2):.4g} in SGD",
        x="w",
        samples={"Langevin model": w, "real SGD": real},
        lines={"stationary law of the model": (grid, density)},
    )


def _normal(z):
    from scipy.special import ndtr

    return ndtr(z)
