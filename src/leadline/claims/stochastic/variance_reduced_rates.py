"""How fast the variance-reduced methods converge, and why: their variance vanishes with the gap."""

from typing import Annotated

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, optimisation, stochastic
from leadline.claims.optimisation.small_digit_network import digit_sum, network_starts
from leadline.claims.stochastic.ridge_logistic import RidgeLogistic, replayed_buffer, ridge_logistic
from leadline.evidence import Choice, Range, at_least, at_most, claim, close, figure, slope

_SEEDS = 8


def _per_pass(gaps: np.ndarray, floor: float = 1e-13) -> float:
    """The factor by which a gap falls in a pass: least squares of its logarithm, above rounding and after pass 1."""
    kept = np.flatnonzero(gaps > floor)
    kept = kept[kept >= 1]
    return float(np.exp(np.polyfit(kept, np.log(gaps[kept]), 1)[0]))


@claim(
    "variance-reduced-linear-rate",
    says=(
        "On strongly convex finite sums SAGA, SAG and SVRG converge linearly at a constant step, at a cost of "
        "(n + L_max/m) log 1/ε component gradients, where gradient descent pays n L/m log 1/ε and SGD stops at a floor."
    ),
    formula=r"\mathrm{E}\|w^t - w^*\|^2 \le \Big(1 - \min\{\tfrac{1}{4n}, \tfrac{m}{3 L_{\max}}\}\Big)^t C_0 \quad "
    r"\text{(SAGA)}",
    sources=("penn", "sheet"),
    assumes=("each component L_max-smooth and convex, the sum m-strongly convex",),
)
def variance_reduced_linear_rate(
    key,
    problem: Annotated[str, Choice("synthetic", "digits")] = "synthetic",
    samples: Annotated[int, Range(30, 150)] = 60,
    penalty: Annotated[float, Range(0.03, 0.3, log=True)] = 0.05,
):
    """Logistic regression over 8 seeds, 20 passes, beside its bounds; or softmax regression of digits."""
    rng = data.generator(key)
    if problem == "digits":
        yield from _digits(rng)
        return
    features, passes = 4, 20
    task = ridge_logistic(rng, samples, features, penalty)
    rough, m = task.smoothness, penalty
    indices = rng.integers(samples, size=(_SEEDS, passes * samples))
    steps, weights = np.array([1 / (3 * rough), 1 / (16 * rough), 1 / rough]), np.array([1.0, 1 / samples, 1 / samples])
    points = np.array(
        [
            [_buffered_run(task, step, weight, rows)[::samples] for rows in indices]
            for step, weight in zip(steps, weights, strict=True)
        ]
    )  # (methods, seeds, passes + 1, p)
    names = ["SAGA, 1/(3 L_max)", "SAG, 1/(16 L_max)", "SAG, 1/L_max"]
    gaps = {name: task.gap(p).mean(axis=0) for name, p in zip(names, points, strict=True)}
    distance = ((points - task.minimiser) ** 2).sum(axis=-1).mean(axis=1)  # (methods, passes + 1)

    start = np.zeros(features)
    factor = 1 - min(1 / (4 * samples), m / (3 * rough))
    constant = np.sum(task.minimiser**2) + 2 * samples / (3 * rough) * task.gap(start)
    times = np.arange(passes + 1) * samples
    yield at_most(
        distance[0], factor**times * constant, "SAGA: mean ‖w − w*‖² of 8 runs at every pass, against the bound"
    )
    rates = {name: _per_pass(g) for name, g in gaps.items()}
    yield at_most(rates[names[0]], factor**samples, "SAGA: fall of the gap in a pass, against theory")
    slow = (1 - min(1 / (8 * samples), m / (16 * rough))) ** samples
    yield at_most(rates[names[1]], slow, "SAG at 1/(16 L_max): fall of the gap in a pass, against theory")

    step, inner = 1 / (10 * rough), int(20 * rough / m)
    ends = []
    for one in jax.random.split(key, _SEEDS):
        rows = jnp.asarray(rng.integers(samples, size=(1, inner)))
        ends.append(stochastic.svrg(task.problem, jnp.zeros(features), step, rows, following="random", key=one).last)
    ends = np.stack(ends)
    promised = stochastic.svrg_factor(step, rough, m, inner)
    yield at_most(
        task.gap(ends).mean() / task.gap(start), promised,
        "SVRG, 1/(10 L_max), M = 20 L_max/m: gap after an epoch / before", trivial=1.0,
    )  # fmt: skip
    usual = jnp.asarray(rng.integers(samples, size=(8, 2 * samples)))
    snapshots = np.asarray(stochastic.svrg(task.problem, jnp.zeros(features), 1 / (3 * rough), usual).snapshots)
    gaps["SVRG, 1/(3 L_max), M = 2n"] = task.gap(snapshots)
    falls = task.gap(snapshots)[1:4] / task.gap(snapshots)[:3]
    yield at_most(
        falls, stochastic.svrg_factor(1 / (3 * rough), rough, m, 2 * samples),
        "SVRG at 1/(3 L_max), M = 2n: fall in an epoch", trivial=1.0,
    )  # fmt: skip
    whole = np.linalg.norm(task.x, 2) ** 2 / (4 * samples) + m
    gaps["gradient descent, 1/L"] = _gradient_descent(task, 1 / whole, passes)
    gaps["SGD, 1/(3 L_max)"] = _sgd(task, 1 / (3 * rough), indices[0])
    yield at_least(
        gaps["SGD, 1/(3 L_max)"][-10:].mean(), 100 * gaps[names[0]][-1], "SGD: its floor, against 100 × SAGA's gap"
    )
    yield figure.curves(
        f"SAGA's gap: times {rates[names[0]]:.2f} a pass, theory promises {factor**samples:.2f}; SGD stops at a floor",
        x="passes over the data (component gradients / n)",
        y="gap",
        lines={"bound on SAGA's gap": (times / samples, whole / 2 * factor**times * constant)},
        points={
            n: (np.arange(len(g)) * (5 if n.startswith("SVRG") else 1), np.maximum(g, 1e-17)) for n, g in gaps.items()
        },
        log="y",
    )


def _gradient_descent(task: RidgeLogistic, step: float, passes: int) -> np.ndarray:
    w, gaps = np.zeros(task.x.shape[1]), []
    for _ in range(passes + 1):
        gaps.append(task.gap(w))
        w = w - step * task.gradients(w).mean(axis=0)
    return np.array(gaps)


def _sgd(task: RidgeLogistic, step: float, indices: np.ndarray) -> np.ndarray:
    w, points = np.zeros(task.x.shape[1]), []
    for i in indices:
        points.append(w)
        pull = -task.y[i] / (1 + np.exp(task.y[i] * (task.x[i] @ w)))
        w = w - step * (pull * task.x[i] + task.penalty * w)
    return task.gap(np.array([*points, w])[:: len(task.y)])


def _buffered_run(task: RidgeLogistic, step: float, weight: float, indices: np.ndarray) -> np.ndarray:
    start = jnp.zeros(task.x.shape[1])
    run = stochastic.saga(task.problem, start, step, jnp.asarray(indices), weight=weight, every=1, compact=False)
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
    certificate = float(jnp.sum(jax.grad(objective)(saga.last) ** 2)) / (2 * m)
    yield at_most(certificate, 1e-13, "SAGA after 60 passes: its gap is at most ‖g‖²/(2m)")
    minimum = values[0][-1]
    gaps = {name: v - minimum for name, v in zip(("SAGA", "SAG", "SVRG"), values, strict=True)}
    yield close(rough, 12.0588, "L_max", atol=5e-5)
    yield close(minimum, 0.7410569, "l*", atol=5e-8)
    factor = (1 - min(1 / (4 * n), m / (3 * rough))) ** n
    yield close(factor, 0.779, "theory's fall of SAGA in a pass", atol=5e-4)
    yield at_most(_per_pass(gaps["SAGA"][:31]), factor, "SAGA: fall of the gap in a pass, against theory")
    yield at_most(gaps["SAGA"][25], 1e-10, "SAGA: gap after 25 passes")
    yield at_most(gaps["SAG"][30], 1e-11, "SAG at 1/L_max: gap after 30 passes")
    yield at_most(gaps["SVRG"][9], 1e-9, "SVRG at 1/(3 L_max), M = 2n: gap after 45 passes")
    yield at_most(
        gaps["SVRG"][1:7] / gaps["SVRG"][:6], stochastic.svrg_factor(1 / (3 * rough), rough, m, 2 * n),
        "SVRG: fall of the gap in an epoch, against its theorem at this step and M", trivial=1.0,
    )  # fmt: skip
    sgd = stochastic.sgd_run(problem, start, 1 / (3 * rough), rows[: 30 * n], every=n)
    plateau = np.asarray(eqx.filter_jit(jax.lax.map)(objective, sgd.points)) - minimum
    yield at_least(plateau[-10:].mean(), 1e-3, "SGD at 1/(3 L_max): mean gap of passes 21 to 30")
    yield figure.curves(
        f"Digits: after 25 passes SAGA's gap is {gaps['SAGA'][25]:.0e}, SGD's {plateau[25]:.0e}",
        x="passes over the data (component gradients / n)",
        y="gap",
        lines={"SAGA: theory's rate": (np.arange(31), gaps["SAGA"][1] * factor ** (np.arange(31) - 1.0))},
        points={
            "SAGA": (np.arange(31), np.maximum(gaps["SAGA"][:31], 1e-17)),
            "SAG": (np.arange(31), np.maximum(gaps["SAG"][:31], 1e-17)),
            "SVRG": (5 * np.arange(10), gaps["SVRG"]),
            "SGD": (np.arange(31), plateau),
        },
        log="y",
    )


@claim(
    "variance-reduction-vanishing-variance",
    says=(
        "The variance of SAGA's and SVRG's direction goes to 0 with the gap, in proportion to it, while SGD's goes to "
        "tr C(w*) > 0: so a constant step suffices. In a network, where examples become easy "
        "and the snapshot old, the gain shrinks and may be lost."
    ),
    formula=r"\mathrm{E}\|d - g\|^2 \le 4 L_{\max} (\mathrm{gap}(w) + \mathrm{gap}(w_s)) \to 0",
    sources=("sheet", "penn"),
    assumes=("a convex finite sum; the network is a measurement",),
)
def variance_reduction_vanishing_variance(
    key,
    samples: Annotated[int, Range(30, 150)] = 60,
    inner: Annotated[float, Range(1.0, 4.0)] = 2.0,
    rate: Annotated[float, Range(0.05, 0.3)] = 0.1,
):
    """Logistic regression, variances by enumeration along the runs; a network 64-16-10 on 200 digits by SGD."""
    rng = data.generator(key)
    features, passes = 4, 20
    task = ridge_logistic(rng, samples, features, 0.05)
    step = 1 / (3 * task.smoothness)
    indices = rng.integers(samples, size=passes * samples)
    points = _buffered_run(task, step, 1.0, indices)
    times = np.arange(samples, len(indices), max(samples // 8, 1))
    gaps, variances = task.gap(points[times]), []
    for t in times:
        entries, _ = replayed_buffer(task, points, indices, t)
        variances.append(np.sum(np.var(task.gradients(points[t]) - entries, axis=0)))
    variances = np.array(variances)
    # a gap jumps about from step to step; the trend over a pass does not
    block = 8
    count = len(times) // block
    trend_gap, trend_variance = (
        np.exp(np.log(np.maximum(v[: count * block], 1e-300)).reshape(count, block).mean(axis=1))
        for v in (gaps, variances)
    )
    kept = trend_gap > 1e-12
    yield slope(trend_gap[kept], trend_variance[kept], 1.0, "SAGA: exponent of the variance in the gap", within=0.1)

    rows = rng.integers(samples, size=(8, int(inner * samples)))
    snapshots = np.asarray(stochastic.svrg(task.problem, jnp.zeros(features), step, jnp.asarray(rows)).snapshots)
    at = task.gradients(snapshots)  # (9, n, p)
    ends = np.sum(np.var(at[1:] - at[:-1], axis=1), axis=1)
    both = task.gap(snapshots[1:]) + task.gap(snapshots[:-1])
    yield at_most(
        ends, 4 * task.smoothness * both, "SVRG: variance before each new snapshot, against 4 L_max (gaps)", atol=1e-14
    )
    far = both > 1e-12
    yield slope(both[far], ends[far], 1.0, "SVRG: exponent of the variance in the gaps", within=0.1).given(
        far.sum() >= 4, "four epochs above rounding"
    )
    plain = np.sum(np.var(task.gradients(points[times]), axis=1), axis=1)
    floor = float(np.sum(np.var(task.gradients(task.minimiser), axis=0)))
    yield close(plain[-1], floor, "SGD: variance at the end of the run, against tr C(w*)", rtol=1e-3)

    network = digit_sum(rng, 200)
    batches = jnp.asarray(rng.integers(200, size=(1600, 10)))
    path = stochastic.rule_run(
        network, optimisation.tunable(optax.sgd, learning_rate=rate), network_starts(rng, 1)[0], batches
    )
    since = np.array([1, 3, 10, 30, 100, 300, 500, 1000, 1500])
    begin = 100
    old = np.asarray(_network_gradients(network, path.points[begin]))
    ratios = []
    for k in since:
        fresh = np.asarray(_network_gradients(network, path.points[begin + k]))
        ratios.append(np.var(fresh - old, axis=0).sum() / np.var(fresh, axis=0).sum())
    ratios = np.array(ratios)
    yield at_most(ratios[0], 1.0, "network: variance of SVRG over that of SGD, one step from the snapshot")
    crossed = np.flatnonzero(ratios > 1)
    finding = f"worse than none after {since[crossed[0]]} steps" if crossed.size else f"of use for {since[-1]} steps"
    order = np.argsort(trend_gap)
    yield figure.beside(
        f"The variance falls with the gap; in this network a snapshot is {finding}",
        figure.curves(
            "Logistic regression", x="gap", y="variance of the direction",
            lines={"4 L_max × gap, the bound for SVRG": (trend_gap[order], 4 * task.smoothness * trend_gap[order])},
            points={"SAGA": (trend_gap, trend_variance), "SVRG": (both, ends), "SGD": (gaps[::block], plain[::block])},
            log="xy",
        ),
        figure.curves(
            "A network 64-16-10 on digits", x="steps since the snapshot", y="variance of SVRG / of SGD",
            points={"ratio": (since, ratios)}, rules={"no gain": ("y", 1.0)}, log="xy",
        ),
    )  # fmt: skip


@eqx.filter_jit
def _network_gradients(network, w):
    return network.gradients(w)
