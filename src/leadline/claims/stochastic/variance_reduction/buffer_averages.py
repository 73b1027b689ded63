"""The family between SAG and SAGA: means of stale gradients, and what their bias buys."""

import jax.numpy as jnp
import numpy as np

from leadline import data, stochastic
from leadline.claims.scenarios.stochastic.ridge_logistic import ridge_logistic
from leadline.evidence import Int, Real, at_least, at_most, claim, close
from leadline.presentation import figure
from leadline.stochastic.variance_reduction.control_variates import best_weight
from leadline.stochastic.variance_reduction.next_directions import replayed_buffer
from leadline.stochastic.variance_reduction.variance_reduced import Buffer


@claim(sources=("penn",))
def sag_equals_buffer_average(key, samples: Int(20, 200) = 60, features: Int(1, 8) = 4):
    r"""SAG steps along the buffer mean.

    SAG's direction is exactly the mean of the buffer after entry i is replaced: a mean of stale gradients, not the
    full gradient, though the difference vanishes as the run converges.

    $$\tfrac1n (g_i - G_i) + \bar G = \tfrac1n \Big( g_i + \sum_{j \ne i} G_j \Big)$$
    """
    rng = data.generator(key)
    task = ridge_logistic(rng, samples, features, 0.2)
    problem = stochastic.finite_logistic(task)
    indices = rng.integers(samples, size=20 * samples)
    step = 0.5 / task.largest_sample_smoothness
    run = stochastic.sag(problem, jnp.zeros(features), step, jnp.asarray(indices), every=1, compact=False)
    points = np.asarray(run.points)
    times = np.arange(0, len(indices), max(samples // 4, 1))
    differences, distances, moved = [], [], []
    for t in times:
        entries, _ = replayed_buffer(task, points, indices, t)
        i, fresh = indices[t], task.sample_gradients(points[t])
        direction = (fresh[i] - entries[i]) / samples + entries.mean(axis=0)
        refreshed = entries.copy()
        refreshed[i] = fresh[i]
        differences.append(direction - refreshed.mean(axis=0))
        moved.append((points[t] - points[t + 1]) / step - refreshed.mean(axis=0))
        distances.append(np.linalg.norm(refreshed.mean(axis=0) - fresh.mean(axis=0)))
    yield close(differences, 0.0, "direction less the mean of the refreshed buffer", atol=1e-14)
    yield close(moved, 0.0, "steps of the run over −η, less the mean of the refreshed buffer", atol=1e-11)
    distances = np.array(distances)
    late, early = distances[-20:].mean(), distances[4:24].mean()
    what = "distance to the full gradient in the last passes, against a fifth of that in the first"
    yield at_most(late, early / 5, what)
    yield at_least(distances[1:12].max(), 1e-4, "largest distance to the full gradient in the first passes")
    title = f"SAG's direction is {distances[4]:.1g} off the full gradient at first, {late:.1g} at the end"
    points = {"‖direction − g(w)‖": (times[1:] / samples, distances[1:])}
    yield figure.curves(title, "passes", "distance to the full gradient", points=points, log="y")


@claim(sources=("penn",))
def biased_control_variate_trade_off(
    key, samples: Int(20, 200) = 60, features: Int(1, 8) = 4, staleness: Real(0.5, 4.0) = 1.0
):
    r"""Bias–variance trade-off from SAG to SAGA.

    Between SAG (λ = 1/n) and SAGA (λ = 1), the bias is (1 − λ) times the staleness of the mean, the variance is λ²V,
    and the mean squared error of one direction is least in between.

    $$\lambda^* = \frac{\|\bar G - g\|^2}{\|\bar G - g\|^2 + V}, \qquad V = \mathrm{Var}(g_i - G_i)$$

    Check: Directions of logistic regression after `staleness` passes of SAGA; then five runs with different λ.
    """
    rng = data.generator(key)
    task = ridge_logistic(rng, samples, features, 0.05)
    problem = stochastic.finite_logistic(task)
    indices = rng.integers(samples, size=20 * samples)
    step, rows = 1 / (3 * task.largest_sample_smoothness), jnp.asarray(indices)
    lams = np.array([1 / samples, 0.1, 0.3, 0.6, 1.0])
    kept = {"every": 1, "compact": False}
    found = [stochastic.saga(problem, jnp.zeros(features), step, rows, weight=v, **kept) for v in lams]
    runs = [np.asarray(run.points) for run in found]
    t = int(staleness * samples)
    w = runs[-1][t]
    entries, _ = replayed_buffer(task, runs[-1], indices, t)
    fresh = task.sample_gradients(w)
    full, old = fresh.mean(axis=0), entries.mean(axis=0)
    stale, spread = np.sum((old - full) ** 2), np.sum(np.var(fresh - entries, axis=0))
    grid = np.linspace(1 / samples, 1, 400)
    made = grid[:, None, None] * (fresh - entries) + old  # (λ, i, p)
    bias = made.mean(axis=1) - full
    variance = np.sum(np.var(made, axis=1), axis=1)
    error = np.mean(np.sum((made - full) ** 2, axis=2), axis=1)
    yield close(bias, (1 - grid)[:, None] * (old - full), "bias by enumeration, against (1 − λ)(Ḡ − g)", atol=1e-14)
    yield close(variance, grid**2 * spread, "variance by enumeration, against λ² V", rtol=1e-10, atol=1e-16)
    best = best_weight(stale, spread)
    nearest, spacing = np.clip(best, grid[0], 1), grid[1] - grid[0]
    yield close(grid[np.argmin(error)], nearest, "λ with the least error on a grid, against λ*", atol=spacing)
    buffer = Buffer(jnp.asarray(entries), jnp.asarray(old))
    directions = np.asarray(stochastic.buffered_directions(problem, jnp.asarray(w), buffer, weight=best))
    least = stale * spread / (stale + spread)
    found = np.mean(np.sum((directions - full) ** 2, axis=1))
    yield close(found, least, "error at λ*, against ‖Ḡ − g‖²V/(‖Ḡ − g‖² + V)", rtol=1e-9)
    passes, parts = np.arange(21), ((1 - grid) ** 2 * stale, grid**2 * spread)
    lines = {"bias²": (grid, parts[0]), "variance": (grid, parts[1]), "sum": (grid, sum(parts))}
    points, rules = {"sum": (grid[::20], error[::20])}, {"λ*": ("x", best)}
    one = figure.curves("Errors of one direction", "λ", "squared error", lines=lines, points=points, rules=rules)
    gaps = {f"λ = {v:.2g}": np.maximum(task.gap(run[::samples]), 1e-16) for v, run in zip(lams, runs, strict=True)}
    lines = {name: (passes, gap) for name, gap in gaps.items()}
    whole = figure.curves("Runs at 1/(3 L_max)", "passes", "gap", lines=lines, log="y")
    yield figure.beside(f"One direction is best at λ* = {best:.2g}", one, whole)
