"""Noise against bad basins: which share of runs SGD brings to the better minimum."""

import numpy as np

from leadline import chains
from leadline.claims.scenarios.stochastic.well_grids import BARRIER, HEIGHT, SHALLOW, well_losses
from leadline.data import generator
from leadline.evidence import Int, Real, at_least, at_most, claim, close, frequency
from leadline.presentation import figure

_REFERENCE = {(0.05, 1): 0.872, (0.05, 4): 0.124, (0.05, 16): 0.0}  # 2e4 runs


def _kernel(step_size: float, batch: int):
    """Exact SGD on l(w) ± 2w: the splitting adds less than a hundredth to the noise."""
    noise = 2 * step_size / np.sqrt(batch)
    spacing = min(0.01, noise / 8)
    points = chains.even_grid(-2.5, 2.5, int(np.ceil(5 / spacing)) + 1)
    slope = points**3 - points + 0.1
    return chains.sgd_kernel(np.stack([slope - 2, slope + 2], axis=1), points, step_size=step_size, batch=batch)


def _better(kernel, num_steps: int) -> np.ndarray:
    """The probability of the better basin after `num_steps`, for every start: Pⁿ applied to its indicator."""
    reach = (kernel.points < BARRIER).astype(float)
    for _ in range(num_steps):
        reach = kernel.chain.matrix @ reach
    return reach


@claim(sources=("eth", "penn"))
def sgd_escapes_local_optima(
    key,
    step_size: Real(0.04, 0.1) = 0.05,
    batch: Int(1, 16) = 4,
    time: Real(50.0, 400.0) = 400.0,
    runs: Int(500, 5000, log=True) = 1000,
):
    r"""SGD noise escapes poor basins.

    Gradient noise lets SGD leave a poor basin that holds gradient descent, if noise and time suffice. The share of
    runs that reaches the better basin is set by η/b through the escape time, and its limit is the Gibbs share, not 1.

    $$\beta = \frac{2b}{\eta s^2}, \quad \text{share} \approx 1 - e^{-\eta t / \tau}, \quad \tau = \frac{2\pi\,
    e^{\beta \Delta E}}{\sqrt{l''(c)\,|l''(s)|}}$$

    Assumes: a double well with noise ±2; an account of deep networks' success by this effect is contested.

    Check: Examples l(w) ± 2w of the tilted double well, from the shallow minimum; exact kernels and simulated runs.
    """
    steps, beta = round(time / step_size), 2 * batch / (step_size * 4)
    kernel = _kernel(step_size, batch)
    reach = _better(kernel, steps)
    exact = kernel.start(SHALLOW) @ reach
    rng, w = generator(key), np.full(runs, SHALLOW)
    for _ in range(steps):
        push = 2 * (2 * rng.binomial(batch, 0.5, size=runs) / batch - 1)
        w = w - step_size * (w**3 - w + 0.1 + push)
    hits = np.sum(w < BARRIER)
    yield frequency(hits, runs, exact, "runs in the better basin, against the exact kernel")
    w = SHALLOW
    for _ in range(steps):
        w = w - step_size * (w**3 - w + 0.1)
    yield at_least(w, BARRIER, "end of gradient descent, against the barrier before the better basin")
    grid = chains.even_grid(-2.5, 2.5, 2001)
    gibbs = chains.gibbs_law(well_losses(grid), beta)[grid < BARRIER].sum()
    yield at_most(exact, gibbs, "share in the better basin, against the Gibbs share", atol=0.03)
    escape = chains.kramers_time(1.68276, -0.96938, HEIGHT, beta)
    formula = gibbs * -np.expm1(-time / escape)
    what = "share in the better basin, against Gibbs × (1 − e^{−ηt/τ})"
    yield close(exact, formula, what, atol=0.02, rtol=0.25)
    if (step_size, time) == (0.05, 400.0):
        for (eta, b), known in _REFERENCE.items():
            other = _kernel(eta, b)
            share = other.start(SHALLOW) @ (reach if b == batch else _better(other, steps))
            yield close(share, known, f"exact share at η = {eta:g}, b = {b}, against 20000 earlier runs", atol=0.01)
    etas, batches = (0.05, 0.1, 0.2), (1, 2, 4, 8)
    plane = np.zeros((len(etas), len(batches)))
    for i, eta in enumerate(etas):
        for j, b in enumerate(batches):
            langevin = chains.IsotropicLangevin(eta, float(b), 2.0)
            points = chains.even_grid(-2.5, 2.5, int(np.ceil(5 / min(0.04, langevin.deviation / 2))) + 1)
            rows = chains.gaussian_kernel(points, points - eta * (points**3 - points + 0.1), langevin.deviation)
            start = rows.start(SHALLOW)
            plane[i, j] = (start @ np.linalg.matrix_power(rows.chain.dense, round(time / eta)))[points < BARRIER].sum()
    title = f"Share in the better basin by time {time:g} (Langevin model)"
    axes = {"xs": batches, "ys": etas, "colour": "share", "text": True}
    shares = figure.heatmap(title, "batch b", "step size η", values=plane.round(3), **axes)
    lines = {"gradient descent": (grid, (grid < BARRIER).astype(float))}
    found = {"SGD, exact": (kernel.points, reach), f"{runs} runs": ([SHALLOW], [hits / runs])}
    title, y = "Where a start ends: SGD against the basins of gradient descent", "probability of the better basin"
    starts = figure.curves(title, "start w", y, lines=lines, points=found)
    title = f"{exact:.3f} reach the better minimum at η = {step_size:g}, b = {batch} (Gibbs: {gibbs:.3f})"
    yield figure.beside(f"{title}; gradient descent: none", shares, starts)
