"""Noise against bad basins: which share of runs SGD brings to the better minimum."""

from typing import Annotated

import numpy as np

from leadline import chains
from leadline.data import generator
from leadline.evidence import Range, at_most, claim, close, exactly, figure, frequency

_SHALLOW, _BARRIER, _HEIGHT = 0.945649, 0.101031, 0.157665  # of the tilted double well
_REFERENCE = {(0.05, 1): 0.872, (0.05, 4): 0.124, (0.05, 16): 0.0}  # 2e4 runs


def _kernel(step: float, batch: int):
    """Exact SGD on l(w) ± 2w: the splitting adds less than a hundredth to the noise."""
    noise = 2 * step / np.sqrt(batch)
    spacing = min(0.01, noise / 8)
    points = chains.even_grid(-2.5, 2.5, int(np.ceil(5 / spacing)) + 1)
    slope = points**3 - points + 0.1
    return chains.sgd_kernel(np.stack([slope - 2, slope + 2], axis=1), points, step=step, batch=batch)


def _better(kernel, steps: int) -> np.ndarray:
    """The probability of the better basin after `steps`, for every start: Pⁿ applied to its indicator."""
    reach = (kernel.points < _BARRIER).astype(float)
    for _ in range(steps):
        reach = kernel.chain.matrix @ reach
    return reach


@claim(
    "sgd-escapes-local-optima",
    says=(
        "Gradient noise lets SGD leave a poor basin that holds gradient descent, if noise and time suffice. The "
        "share that reaches the better basin is set by η/b through the escape time, and its limit is the Gibbs "
        "share, not 1."
    ),
    formula=r"\beta = \frac{2b}{\eta s^2}, \quad \text{share} \approx 1 - e^{-\eta t / \tau}, \quad "
    r"\tau = \frac{2\pi\, e^{\beta \Delta E}}{\sqrt{l''(c)\,|l''(s)|}}",
    sources=("eth", "penn"),
    assumes=("a double well with noise ±2; an account of deep networks' success by it is contested",),
)
def sgd_escapes_local_optima(
    key,
    step: Annotated[float, Range(0.04, 0.1)] = 0.05,
    batch: Annotated[int, Range(1, 16)] = 4,
    time: Annotated[float, Range(50.0, 400.0)] = 400.0,
    runs: Annotated[int, Range(500, 5000, log=True)] = 1000,
):
    """Samples l(w) ± 2w of the tilted double well from the shallow minimum: exact kernels, and simulated runs."""
    steps = round(time / step)
    beta = 2 * batch / (step * 4)
    kernel = _kernel(step, batch)
    reach = _better(kernel, steps)
    exact = float(kernel.start(_SHALLOW) @ reach)
    rng, w = generator(key), np.full(runs, _SHALLOW)
    for _ in range(steps):
        push = 2 * (2 * rng.binomial(batch, 0.5, size=runs) / batch - 1)
        w = w - step * (w**3 - w + 0.1 + push)
    hits = int(np.sum(w < _BARRIER))
    yield frequency(hits, runs, exact, "runs in the better basin, against the exact kernel")
    w = _SHALLOW
    for _ in range(steps):
        w = w - step * (w**3 - w + 0.1)
    yield exactly(bool(w < _BARRIER), False, "gradient descent reaches the better basin")

    grid = chains.even_grid(-2.5, 2.5, 2001)
    gibbs = chains.gibbs_law((grid**2 - 1) ** 2 / 4 + 0.1 * grid, beta)[grid < _BARRIER].sum()
    yield at_most(exact, gibbs, "share in the better basin, against the Gibbs share", atol=0.03)
    escape = chains.kramers_time(1.68276, -0.96938, _HEIGHT, beta)
    formula = gibbs * -np.expm1(-time / escape)
    yield close(exact, formula, "share, against Gibbs × (1 − e^{−ηt/τ})", atol=0.02, rtol=0.25)
    if (step, time) == (0.05, 400.0):
        for (eta, b), known in _REFERENCE.items():
            other = _kernel(eta, b)
            share = other.start(_SHALLOW) @ (reach if b == batch else _better(other, steps))
            yield close(share, known, f"share at η = {eta:g}, b = {b}, from 20000 runs before", atol=0.01)

    etas, batches = (0.05, 0.1, 0.2), (1, 2, 4, 8)
    plane = np.zeros((len(etas), len(batches)))
    for i, eta in enumerate(etas):
        for j, b in enumerate(batches):
            langevin = chains.IsotropicLangevin(eta, float(b), 2.0)
            points = chains.even_grid(-2.5, 2.5, int(np.ceil(5 / min(0.04, langevin.deviation / 2))) + 1)
            rows = chains.gaussian_kernel(points, points - eta * (points**3 - points + 0.1), langevin.deviation)
            start = rows.start(_SHALLOW)
            plane[i, j] = (start @ np.linalg.matrix_power(rows.chain.dense, round(time / eta)))[points < _BARRIER].sum()
    thin = slice(None, None, max(1, len(reach) // 80))
    yield figure.beside(
        f"From the shallow minimum {exact:.3f} reach the better one at η = {step:g}, b = {batch} (Gibbs: {gibbs:.3f}); "
        "gradient descent: none",
        figure.heatmap(
            f"Share in the better basin by time {time:g} (Langevin model)", x="batch b", y="step η",
            values=plane.round(3), xs=batches, ys=etas, colour="share", text=True,
        ),
        figure.curves(
            "Where a start ends: SGD against the basins of gradient descent",
            x="start w",
            y="probability of the better basin",
            lines={"gradient descent": (grid, (grid < _BARRIER).astype(float))},
            points={"SGD, exact": (kernel.points[thin], reach[thin]), f"{runs} runs": ([_SHALLOW], [hits / runs])},
        ),
    )  # fmt: skip
