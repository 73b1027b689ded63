"""How fast the variance-reduced methods converge, and why: their variance vanishes with the gap."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, optimisation, stochastic
from leadline.claims.scenarios.optimisation.small_digit_network import digit_sum, network_starts
from leadline.claims.scenarios.stochastic.ridge_logistic import ridge_logistic
from leadline.evidence import Int, OneOf, Real, at_least, at_most, claim, close, reference, slope
from leadline.presentation import figure
from leadline.stochastic.variance_reduction.next_directions import replayed_buffer
from leadline.stochastic.variance_reduction.variance_reduced import svrg_factor

_SEEDS = 8
_PASSES = "passes over the data (component gradients / n)"


def _per_pass(gaps: np.ndarray, floor: float = 1e-13) -> float:
    """The factor by which a gap falls in a pass: least squares of its logarithm, above rounding and after pass 1."""
    kept = 1 + np.flatnonzero(gaps[1:] > floor)
    return np.exp(np.polyfit(kept, np.log(gaps[kept]), 1)[0])


def _fall_bound(falls: np.ndarray, step_size: float, rough: float, m: float, inner: int, what: str):
    """The fall of SVRG's gap in an epoch, against its theorem."""
    return at_most(falls, svrg_factor(step_size, rough, m, inner), what, trivial=1.0)


@claim(sources=("penn", "sheet"))
def variance_reduced_linear_rate(
    key,
    problem: OneOf("synthetic", "digits") = "synthetic",
    samples: Int(30, 150) = 60,
    penalty: Real(0.03, 0.3, log=True) = 0.05,
):
    r"""Linear rate of variance-reduced methods.

    On strongly convex finite sums SAGA, SAG and SVRG converge linearly at a constant step size, at a cost of (n +
    Lₘₐₓ/m) log 1/ε component gradients, where gradient descent pays n L/m log 1/ε and SGD stops at a floor.

    $$\mathrm{E}\|w^t - w^*\|^2 \le \Big(1 - \min\{\tfrac{1}{4n}, \tfrac{m}{3 L_{\max}}\}\Big)^t C_0 \quad
    \text{(SAGA)}$$

    Assumes: each component is Lₘₐₓ-smooth and convex; the sum is m-strongly convex.
    """
    rng = data.generator(key)
    if problem == "digits":
        yield from _digits(rng)
        return
    features, passes = 4, 20
    task = ridge_logistic(rng, samples, features, penalty)
    sums = stochastic.finite_logistic(task)
    rough, m = task.largest_sample_smoothness, penalty
    indices = rng.integers(samples, size=(_SEEDS, passes * samples))
    steps, weights = np.array([1 / (3 * rough), 1 / (16 * rough), 1 / rough]), np.array([1.0, 1 / samples, 1 / samples])
    tried = list(zip(steps, weights, strict=True))
    points = [[_buffered_run(sums, step, weight, rows)[::samples] for rows in indices] for step, weight in tried]
    names = ["SAGA, 1/(3 L_max)", "SAG, 1/(16 L_max)", "SAG, 1/L_max"]
    gaps = {name: task.gap(np.array(p)).mean(axis=0) for name, p in zip(names, points, strict=True)}
    distance = (
        ((np.array(points[0]) - task.constants().minimiser) ** 2).sum(axis=-1).mean(axis=0)
    )  # of SAGA, at each pass
    start = np.zeros(features)
    factor = 1 - min(1 / (4 * samples), m / (3 * rough))
    constant = np.sum(task.constants().minimiser ** 2) + 2 * samples / (3 * rough) * task.gap(start)
    times = np.arange(passes + 1) * samples
    bound = factor**times * constant
    yield at_most(distance, bound, "SAGA: mean ‖w − w*‖² of 8 runs at every pass, against the bound")
    rates = {name: _per_pass(g) for name, g in gaps.items()}
    yield at_most(rates[names[0]], factor**samples, "SAGA: factor of the gap in a pass, against theory")
    slow = (1 - min(1 / (8 * samples), m / (16 * rough))) ** samples
    yield at_most(rates[names[1]], slow, "SAG at 1/(16 L_max): factor of the gap in a pass, against theory")
    step, inner = 1 / (10 * rough), int(20 * rough / m)
    ends = []
    for one in jax.random.split(key, _SEEDS):
        rows = jnp.asarray(rng.integers(samples, size=(1, inner)))
        ends.append(stochastic.svrg(sums, jnp.zeros(features), step, rows, following="random", key=one).last)
    fall = task.gap(np.stack(ends)).mean() / task.gap(start)
    what = "SVRG, 1/(10 L_max), M = 20 L_max/m: gap after an epoch / before"
    yield _fall_bound(fall, step, rough, m, inner, what)
    usual = jnp.asarray(rng.integers(samples, size=(8, 2 * samples)))
    snapshots = np.asarray(stochastic.svrg(sums, jnp.zeros(features), 1 / (3 * rough), usual).snapshots)
    gaps["SVRG, 1/(3 L_max), M = 2n"] = found = task.gap(snapshots)
    what = "SVRG at 1/(3 L_max), M = 2n: factor of the gap in an epoch"
    yield _fall_bound(found[1:4] / found[:3], 1 / (3 * rough), rough, m, 2 * samples, what)
    whole = task.constants().smoothness
    gaps["gradient descent, 1/L"] = task.gap(optimisation.gradient_path(task.gradient, start, 1 / whole, passes))
    sgd = stochastic.sgd_run(sums, start, 1 / (3 * rough), indices[0], every=samples)
    gaps["SGD, 1/(3 L_max)"] = task.gap(np.asarray(sgd.points))
    floor = gaps["SGD, 1/(3 L_max)"][-10:].mean()
    yield at_least(floor, 100 * gaps[names[0]][-1], "SGD: its floor, against 100 × SAGA's gap")
    title = f"SAGA's gap: times {rates[names[0]]:.2f} a pass, at most {factor**samples:.2f} in theory; SGD stops"
    lines = {"bound on SAGA's gap": (times / samples, whole / 2 * bound)}
    shown = {n: (np.arange(len(g)) * (5 if n.startswith("SVRG") else 1), np.maximum(g, 1e-17)) for n, g in gaps.items()}
    yield figure.curves(title, _PASSES, "gap", lines=lines, points=shown, log="y")


def _buffered_run(problem: stochastic.FiniteSum, step_size: float, weight: float, indices: np.ndarray) -> np.ndarray:
    start = jnp.zeros(problem.arrays[0].shape[1])
    run = stochastic.saga(problem, start, step_size, jnp.asarray(indices), weight=weight, every=1, compact=False)
    return np.asarray(run.points)


def _digits(rng: np.random.Generator):
    """Softmax regression of the digits with penalty 0.01, from W = 0."""
    objective = optimisation.digits_softmax(0.01)
    n, rough, m = len(objective.x), objective.largest_sample_smoothness, 0.01
    problem = stochastic.finite_softmax(objective)
    start, passes = jnp.zeros(650), 60
    rows = jnp.asarray(rng.integers(n, size=passes * n))
    saga = stochastic.saga(problem, start, 1 / (3 * rough), rows)
    sag = stochastic.sag(problem, start, 1 / rough, rows)
    svrg = stochastic.svrg(problem, start, 1 / (3 * rough), jnp.asarray(rng.integers(n, size=(9, 2 * n))))
    values = [np.asarray(eqx.filter_jit(jax.lax.map)(objective, p)) for p in (saga.points, sag.points, svrg.snapshots)]
    certificate = jnp.sum(jax.grad(objective)(saga.last) ** 2) / (2 * m)
    yield at_most(certificate, 1e-13, "SAGA after 60 passes: its gap is at most ‖g‖²/(2m)")
    minimum = values[0][-1]
    gaps = {name: v - minimum for name, v in zip(("SAGA", "SAG", "SVRG"), values, strict=True)}
    yield reference(rough, 12.0588, "L_max of the digits", digits=6)
    yield reference(minimum, 0.7410569, "l* of the digits", digits=7)
    factor = (1 - min(1 / (4 * n), m / (3 * rough))) ** n
    yield reference(factor, 0.779, "theory's factor of SAGA's gap in a pass", digits=3)
    yield at_most(_per_pass(gaps["SAGA"][:31]), factor, "SAGA: factor of the gap in a pass, against theory")
    yield at_most(gaps["SAGA"][25], 1e-10, "SAGA: gap after 25 passes")
    yield at_most(gaps["SAG"][30], 1e-11, "SAG at 1/L_max: gap after 30 passes")
    yield at_most(gaps["SVRG"][9], 1e-9, "SVRG at 1/(3 L_max), M = 2n: gap after 45 passes")
    falls, what = gaps["SVRG"][1:7] / gaps["SVRG"][:6], "SVRG at 1/(3 L_max), M = 2n: factor of the gap in an epoch"
    yield _fall_bound(falls, 1 / (3 * rough), rough, m, 2 * n, what)
    sgd = stochastic.sgd_run(problem, start, 1 / (3 * rough), rows[: 30 * n], every=n)
    plateau = np.asarray(eqx.filter_jit(jax.lax.map)(objective, sgd.points)) - minimum
    yield at_least(plateau[-10:].mean(), 1e-3, "SGD at 1/(3 L_max): mean gap of passes 21 to 30")
    title = f"Digits: after 25 passes SAGA's gap is {gaps['SAGA'][25]:.0e}, SGD's {plateau[25]:.0e}"
    lines = {"SAGA: theory's rate": (np.arange(31), gaps["SAGA"][1] * factor ** (np.arange(31) - 1.0))}
    shown = {"SAGA": np.maximum(gaps["SAGA"][:31], 1e-17), "SAG": np.maximum(gaps["SAG"][:31], 1e-17), "SGD": plateau}
    points = {name: (np.arange(31), g) for name, g in shown.items()} | {"SVRG": (5 * np.arange(10), gaps["SVRG"])}
    yield figure.curves(title, _PASSES, "gap", lines=lines, points=points, log="y")


@claim(sources=("sheet", "penn"))
def variance_reduction_vanishing_variance(
    key, samples: Int(30, 150) = 60, inner: Real(1.0, 4.0) = 2.0, rate: Real(0.05, 0.3) = 0.1
):
    r"""Variance reduction makes the noise vanish.

    The variance of SAGA's and SVRG's direction goes to 0 with the gap, in proportion to it, while SGD's goes to tr
    C(w*) > 0: so a constant step size suffices. In a network, where examples become easy and the snapshot old, the
    gain shrinks and may be lost.

    $$\mathrm{E}\|d - g\|^2 \le 4 L_{\max} (\mathrm{gap}(w) + \mathrm{gap}(w_s)) \to 0$$

    Assumes: a convex finite sum; on the network this is a measurement.

    Check: Variances by enumeration along runs on logistic regression; then a network 64-16-10 on 200 digits by SGD.
    """
    rng = data.generator(key)
    features, passes = 4, 20
    task = ridge_logistic(rng, samples, features, 0.05)
    sums = stochastic.finite_logistic(task)
    step = 1 / (3 * task.largest_sample_smoothness)
    indices = rng.integers(samples, size=passes * samples)
    points = _buffered_run(sums, step, 1.0, indices)
    times = np.arange(samples, len(indices), max(samples // 8, 1))
    gaps, variances = task.gap(points[times]), []
    for t in times:
        entries, _ = replayed_buffer(task, points, indices, t)
        variances.append(np.sum(np.var(task.sample_gradients(points[t]) - entries, axis=0)))
    variances = np.array(variances)
    # a gap jumps about from step to step; the trend over a pass does not
    block = 8
    parts = (v[: len(times) // block * block] for v in (gaps, variances))
    trend_gap, trend_variance = (np.exp(np.log(np.maximum(v, 1e-300)).reshape(-1, block).mean(axis=1)) for v in parts)
    kept = trend_gap > 1e-12
    yield slope(trend_gap[kept], trend_variance[kept], 1.0, "SAGA: exponent of the variance in the gap", within=0.1)
    rows = rng.integers(samples, size=(8, int(inner * samples)))
    snapshots = np.asarray(stochastic.svrg(sums, jnp.zeros(features), step, jnp.asarray(rows)).snapshots)
    at = task.sample_gradients(snapshots)  # (9, n, p)
    ends = np.sum(np.var(at[1:] - at[:-1], axis=1), axis=1)
    both = task.gap(snapshots[1:]) + task.gap(snapshots[:-1])
    what = "SVRG: variance before each new snapshot, against 4 L_max (gaps)"
    yield at_most(ends, 4 * task.largest_sample_smoothness * both, what, atol=1e-14)
    far = both > 1e-12
    trend = slope(both[far], ends[far], 1.0, "SVRG: exponent of the variance in the gaps", within=0.1)
    yield trend.given(far.sum() >= 4, "four epochs above rounding")
    plain = np.sum(np.var(task.sample_gradients(points[times]), axis=1), axis=1)
    floor = np.sum(np.var(task.sample_gradients(task.constants().minimiser), axis=0))
    yield close(plain[-1], floor, "SGD: variance at the end of the run, against tr C(w*)", rtol=1e-3)
    network = digit_sum(rng, 200)
    batches = jnp.asarray(rng.integers(200, size=(1600, 10)))
    rule = optimisation.tunable(optax.sgd, learning_rate=rate)
    path = stochastic.rule_run(network, rule, network_starts(rng, 1)[0], batches)
    since, begin = np.array([1, 3, 10, 30, 100, 300, 500, 1000, 1500]), 100
    old = np.asarray(_network_gradients(network, path.points[begin]))
    ratios = []
    for k in since:
        fresh = np.asarray(_network_gradients(network, path.points[begin + k]))
        ratios.append(np.var(fresh - old, axis=0).sum() / np.var(fresh, axis=0).sum())
    ratios = np.array(ratios)
    yield at_most(ratios[0], 1.0, "network: SVRG's variance over SGD's, one step on").as_empirical()
    crossed = np.flatnonzero(ratios > 1)
    finding = f"worse than none after {since[crossed[0]]} steps" if crossed.size else f"of use for {since[-1]} steps"
    across = np.sort(trend_gap)
    lines = {"4 L_max × gap, the bound for SVRG": (across, 4 * task.largest_sample_smoothness * across)}
    points = {"SAGA": (trend_gap, trend_variance), "SVRG": (both, ends), "SGD": (gaps[::block], plain[::block])}
    convex = figure.curves("Logistic regression", "gap", "variance", lines=lines, points=points, log="xy")
    title, points = "A network 64-16-10 on digits", {"ratio": (since, ratios)}
    x, y, rules = "steps since the snapshot", "variance of SVRG / of SGD", {"no gain": ("y", 1.0)}
    deep = figure.curves(title, x, y, points=points, rules=rules, log="xy")
    yield figure.beside(f"The variance falls with the gap; in this network a snapshot is {finding}", convex, deep)


@eqx.filter_jit
def _network_gradients(network, w):
    return network.gradients(w)
