"""Stochastic gradient descent, run and followed exactly by its first two moments."""

import jax
import numpy as np

from leadline import data, stochastic
from leadline.evidence import Int, OneOf, Real, close, exactly, mean, method, slope
from leadline.presentation import figure
from leadline.stochastic.schedules import STEP_SHAPES


def regression(rng, samples, dimension, noise=1.0):
    """Normal features around 1 on the first axis, a random teacher, targets with noise."""
    x = rng.standard_normal((samples, dimension))
    x[:, 0] += 1.0
    return x, x @ rng.standard_normal(dimension) + noise * rng.standard_normal(samples)


@method(sources=("eth", "sheet", "penn"))
def sgd(key, eta: Real(0.02, 0.5, log=True) = 0.3, batch: Int(1, 8) = 1, schedule: OneOf(*STEP_SHAPES) = "constant"):
    r"""Stochastic gradient descent.

    Step against the mean gradient of a batch. With all n examples it is gradient descent; a stream of indices drawn
    beforehand replays the run; with a constant step size the iterate keeps a variance proportional to it.

    $$w^{t+1} = w^t - \eta_t\, \frac{1}{b}\sum_{k=1}^{b} g_{i_k}(w^t)$$

    Check: 300 runs of 60 steps on least squares with 24 examples in the plane, with step sizes η/Lₘₐₓ.
    """
    rng = data.generator(key)
    x, y = regression(rng, 24, 2)
    problem, moments = stochastic.least_squares_sum(x, y), stochastic.LeastSquaresMoments(x, y)
    unit = 1 / np.max(np.sum(x**2, 1))
    start, length = moments.minimiser + np.array([2.0, 1.0]), 60
    etas = stochastic.step_sizes(schedule, eta * unit, length)
    rows = stochastic.draw_indices(24, batch, 300 * length, key=key).reshape(300, length, batch)
    run = jax.vmap(lambda stream: stochastic.sgd_run(problem, start, etas, stream).points)
    paths = np.asarray(run(rows))
    yield exactly(run(rows), paths, "points of 300 runs, replayed with the same indices")
    descent = [start]
    for step in etas:
        descent.append(descent[-1] - step * moments.hessian @ (descent[-1] - moments.minimiser))
    descent = np.array(descent)
    everyone = stochastic.draw_indices(24, 24, length, replacement=False, key=key)
    full = stochastic.sgd_run(problem, start, etas, everyone).points
    rounding = 1e-12 * np.abs(start).max() * 60
    yield close(full, descent, "points with b = n without replacement, against gradient descent", atol=rounding)
    exact = moments.path(start, etas, batch)
    for t in (5, 20, length):
        away = np.sum((paths[:, t] - moments.minimiser) ** 2, 1)
        yield mean(away, exact.distances[t], f"E‖w − w*‖² after {t} steps, against the exact moment")
    small = np.geomspace(1e-4, 1e-3, 5) * unit
    kept = [np.trace(moments.stationary(step, batch)) for step in small]
    yield slope(small, kept, 1.0, "stationary variance against η, exact", within=0.01)
    shown = paths[:40]
    everything = np.concatenate([shown[:, 20], shown[:, -1], shown[0], descent])
    domain = tuple((float(a) - 0.2, float(b) + 0.2) for a, b in zip(everything.min(0), everything.max(0), strict=True))
    title = f"{schedule.capitalize()} steps, b = {batch}: after {length} steps E‖w − w*‖² is {exact.distances[-1]:.3g}"
    points = {"SGD, 40 runs, step 20": shown[:, 20], f"SGD, step {length}": shown[:, -1], "w*": moments.minimiser[None]}
    lines = {"gradient descent": (descent[:, 0], descent[:, 1]), "one run of SGD": (shown[0, :, 0], shown[0, :, 1])}
    yield figure.plane(title, "w₁", "w₂", points=points, lines=lines, domain=domain)


@method(sources=("penn",))
def sgd_exact_moments(
    key,
    samples: Int(20, 200) = 40,
    dimension: Int(1, 5) = 3,
    share: Real(0.02, 0.3, log=True) = 0.15,
    batch: Int(1, 8) = 2,
):
    r"""Exact moments of SGD on least squares.

    On least squares the mean and the second moment of w − w* follow a closed linear recursion, so the expected gap
    tr(HS)/2 and the expected squared distance tr S are known without sampling, and their limits by a linear solve.

    $$S^+ = S - \eta (HS + SH) + \eta^2\left[HSH + \tfrac{1}{b}(G - HSH)\right], \quad \mu^+ = (I - \eta H)\mu$$

    Check: 20 000 runs of 40 steps; the step size is a share of the largest one with a finite second moment.
    """
    rng = data.generator(key)
    x, y = regression(rng, samples, dimension)
    moments = stochastic.LeastSquaresMoments(x, y)
    eta, length, runs = share * moments.largest_step(batch), 40, 20000
    start = moments.minimiser + 1.0
    exact = moments.path(start, np.full(length, eta), batch)
    rows = stochastic.draw_indices(samples, batch, runs * length, key=key).reshape(runs, length, batch)
    drawn = stochastic.sgd_runs(stochastic.least_squares_sum(x, y), start, eta, rows)
    away = np.asarray(drawn) - moments.minimiser  # (run, time, coordinate)
    for t in (1, 10, length):
        v = away[:, t]
        gaps = np.einsum("ri,ij,rj->r", v, moments.hessian, v) / 2
        yield mean(gaps, exact.gaps[t], f"gap after {t} steps, 20000 runs, against tr(HS)/2")
        yield mean(np.sum(v**2, 1), exact.distances[t], f"‖w − w*‖² after {t} steps, against tr S")
        yield mean(v[:, 0], exact.means[t, 0], f"first coordinate of w − w* after {t} steps, against μ")
    limit = moments.stationary(eta, batch)
    _, after = moments.step(np.zeros(dimension), limit, eta, batch)
    yield close(after, limit, "stationary S, one step later", atol=1e-12 * np.abs(limit).max())
    quiet = moments.path(start, np.full(length, eta), np.inf).seconds
    alone = np.linalg.matrix_power(np.eye(dimension) - eta * moments.hessian, length)
    end = alone @ (start - moments.minimiser)
    tolerance = 1e-12 * np.sum((start - moments.minimiser) ** 2)
    yield close(quiet[-1], np.outer(end, end), "S at b → ∞, against gradient descent", atol=tolerance)
    v, mean_gap = away[:30], np.mean(gaps)
    gaps = np.einsum("rti,ij,rtj->rt", v, moments.hessian, v) / 2
    band = stochastic.ensemble_band(gaps)
    times = np.arange(length + 1)
    title = f"The exact expected gap falls to {exact.gaps[-1]:.3g}; 20000 runs have mean {mean_gap:.3g}"
    lines = {"exact mean": (times, exact.gaps)}
    bands = {"80 % of the runs": (times, band.quantiles[0], band.quantiles[2])}
    points = {f"run {r + 1}": (times, gaps[r]) for r in range(3)}
    yield figure.curves(title, "step", "gap", lines=lines, bands=bands, points=points, log="y")
