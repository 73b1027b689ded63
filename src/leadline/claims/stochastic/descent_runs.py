"""Stochastic gradient descent, run and followed exactly by its first two moments."""

from typing import Annotated

import jax
import numpy as np

from leadline import data, stochastic
from leadline.evidence import Choice, Range, at_most, close, exactly, figure, mean, method, printed, slope


def regression(rng, samples, dimension, noise=1.0):
    """Normal features around 1 on the first axis, a random teacher, targets with noise."""
    x = rng.standard_normal((samples, dimension))
    x[:, 0] += 1.0
    return x, x @ rng.standard_normal(dimension) + noise * rng.standard_normal(samples)


@method(
    "sgd",
    says=(
        "Step against the mean gradient of a batch. With all n examples it is gradient descent; a stream of indices "
        "drawn beforehand replays the run; with a constant step the iterate keeps a variance proportional to it."
    ),
    formula=r"w^{t+1} = w^t - \eta_t\, \frac{1}{b}\sum_{k=1}^{b} g_{i_k}(w^t)",
    sources=("eth", "sheet", "penn"),
    shows=("stochastic.sgd_run", "stochastic.SGDRun", "stochastic.step_sizes", "stochastic.STEP_SHAPES"),
)
def sgd(
    key,
    eta: Annotated[float, Range(0.02, 0.5, log=True)] = 0.3,
    batch: Annotated[int, Range(1, 8)] = 1,
    schedule: Annotated[str, Choice(*stochastic.STEP_SHAPES)] = "constant",
):
    """Least squares with 24 examples in the plane, steps η/L_max; 300 runs of 60 steps against the exact moments."""
    rng = data.generator(key)
    x, y = regression(rng, 24, 2)
    problem, moments = stochastic.least_squares_sum(x, y), stochastic.LeastSquaresMoments(x, y)
    unit = 1 / np.max(np.sum(x**2, 1))
    start, length = moments.minimiser + np.array([2.0, 1.0]), 60
    etas = stochastic.step_sizes(schedule, eta * unit, length)
    rows = stochastic.draw_indices(24, batch, 300 * length, key=key).reshape(300, length, batch)
    run = jax.vmap(lambda stream: stochastic.sgd_run(problem, start, etas, stream).points)
    paths = np.asarray(run(rows))
    yield exactly(np.asarray(run(rows)), paths, "the same stream of indices, replayed")

    descent = [start]
    for step in etas:
        descent.append(descent[-1] - step * moments.hessian @ (descent[-1] - moments.minimiser))
    descent = np.array(descent)
    everyone = stochastic.draw_indices(24, 24, length, replacement=False, key=key)
    full = stochastic.sgd_run(problem, start, etas, everyone).points
    yield close(
        full, descent, "b = n without replacement, against gradient descent", atol=1e-12 * np.abs(start).max() * 60
    )

    exact = moments.path(start, etas, batch)
    for t in (5, 20, length):
        away = np.sum((paths[:, t] - moments.minimiser) ** 2, 1)
        yield mean(away, exact.distances[t], f"E‖w − w*‖² after {t} steps, against the exact moment")
    small = np.geomspace(1e-4, 1e-3, 5) * unit
    kept = [np.trace(moments.stationary(step, batch)) for step in small]
    yield slope(small, kept, 1.0, "stationary variance against η, exact", within=0.01)
    floor = np.trace(moments.stationary(eta * unit, batch))
    yield printed(
        at_most(floor, 1e-9, "E‖w − w*‖² left for ever by a constant step"), "eth", "SGD converges (no condition named)"
    )
    shown = paths[:40]
    everything = np.concatenate([shown[:, 20], shown[:, -1], shown[0], descent])
    domain = tuple((float(a) - 0.2, float(b) + 0.2) for a, b in zip(everything.min(0), everything.max(0), strict=True))
    yield figure.plane(
        f"{schedule.capitalize()} steps, b = {batch}: after {length} steps E‖w − w*‖² is {exact.distances[-1]:.3g}, "
        f"gradient descent has {np.sum((descent[-1] - moments.minimiser) ** 2):.2g}",
        x="w₁",
        y="w₂",
        points={
            "SGD, 40 runs, step 20": shown[:, 20],
            f"SGD, step {length}": shown[:, -1],
            "w*": moments.minimiser[None],
        },
        lines={"gradient descent": (descent[:, 0], descent[:, 1]), "one run of SGD": (shown[0, :, 0], shown[0, :, 1])},
        domain=domain,
    )


@method(
    "sgd-exact-moments",
    says=(
        "On least squares the mean and the second moment of w − w* follow a closed linear recursion, so the expected "
        "gap tr(HS)/2 and distance tr S are known without sampling, and their limit by a linear solve."
    ),
    formula=r"S^+ = S - \eta (HS + SH) + \eta^2\left[HSH + \tfrac{1}{b}(G - HSH)\right], \quad \mu^+ = (I - \eta H)\mu",
    sources=("penn",),
    shows=("stochastic.LeastSquaresMoments", "stochastic.MomentPath"),
)
def sgd_exact_moments(
    key,
    samples: Annotated[int, Range(20, 200)] = 40,
    dimension: Annotated[int, Range(1, 5)] = 3,
    share: Annotated[float, Range(0.02, 0.3, log=True)] = 0.15,
    batch: Annotated[int, Range(1, 8)] = 2,
):
    """20000 runs of 40 steps, vectorised; the step is a share of the largest with a finite second moment."""
    rng = data.generator(key)
    x, y = regression(rng, samples, dimension)
    moments = stochastic.LeastSquaresMoments(x, y)
    eta, length, runs = share * moments.largest_step(batch), 40, 20000
    start = moments.minimiser + 1.0
    exact = moments.path(start, np.full(length, eta), batch)
    w, fan = np.tile(start, (runs, 1)), [np.tile(start, (30, 1))]
    for t in range(1, length + 1):
        rows = rng.integers(samples, size=(runs, batch))
        picked = x[rows]
        w = w - eta * np.mean(picked * (np.einsum("rbp,rp->rb", picked, w) - y[rows])[..., None], axis=1)
        fan.append(w[:30])
        if t in (1, 10, length):
            v = w - moments.minimiser
            gaps = np.einsum("ri,ij,rj->r", v, moments.hessian, v) / 2
            yield mean(gaps, exact.gaps[t], f"gap after {t} steps, 20000 runs, against tr(HS)/2")
            yield mean(np.sum(v**2, 1), exact.distances[t], f"‖w − w*‖² after {t} steps, against tr S")
            yield mean(v[:, 0], exact.means[t, 0], f"first coordinate of w − w* after {t} steps, against μ")
    limit = moments.stationary(eta, batch)
    _, after = moments.step(np.zeros(dimension), limit, eta, batch)
    yield close(after, limit, "the fixed point, one step later", atol=1e-12 * np.abs(limit).max())
    quiet = moments.path(start, np.full(length, eta), np.inf).seconds
    shrink = np.eye(dimension) - eta * moments.hessian
    alone = np.linalg.matrix_power(shrink, length)
    v = start - moments.minimiser
    yield close(quiet[-1], np.outer(alone @ v, alone @ v), "b → ∞, against gradient descent", atol=1e-12 * (v @ v))
    v = np.array(fan) - moments.minimiser
    gaps = np.einsum("tri,ij,trj->rt", v, moments.hessian, v) / 2
    band = stochastic.ensemble_band(gaps)
    times = np.arange(length + 1)
    yield figure.curves(
        f"The exact expected gap falls to {exact.gaps[-1]:.3g}; 20000 runs have mean {gaps_mean(w, moments):.3g}",
        x="step",
        y="gap",
        lines={"exact mean": (times, exact.gaps)},
        bands={"80 % of the runs": (times, band.quantiles[0], band.quantiles[2])},
        points={f"run {r + 1}": (times[::2], gaps[r, ::2]) for r in range(3)},
        log="y",
    )


def gaps_mean(w, moments):
    v = w - moments.minimiser
    return float(np.mean(np.einsum("ri,ij,rj->r", v, moments.hessian, v)) / 2)
