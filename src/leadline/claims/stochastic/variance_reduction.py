"""SAGA, SAG and SVRG: what their directions are, by enumeration."""

from typing import Annotated

import jax.numpy as jnp
import numpy as np

from leadline import data, stochastic
from leadline.claims.stochastic.ridge_logistic import replayed_buffer, ridge_logistic
from leadline.evidence import Choice, Range, assume, at_most, close, figure, method, printed


@method(
    "saga",
    says=(
        "SAGA keeps the last gradient of every example and steps along the new one minus the old one plus the mean of "
        "all old ones: an unbiased direction for the full gradient, whose error dies out with the buffer's."
    ),
    formula=r"d = \lambda (g_i(w) - G_i) + \bar G, \quad G_i \leftarrow g_i(w), \qquad "
    r"\lambda = 1: \ \mathrm{E}\, d = g(w)",
    sources=("penn",),
    assumes=("a finite sum of fixed functions",),
    shows=(
        "stochastic.saga", "stochastic.filled_buffer", "stochastic.empty_buffer", "stochastic.buffered_directions",
        "stochastic.LinearLoss",
    ),
)  # fmt: skip
def saga(
    key,
    samples: Annotated[int, Range(20, 200)] = 60,
    features: Annotated[int, Range(1, 8)] = 4,
    share: Annotated[float, Range(0.1, 1.0)] = 1.0,
    weight: Annotated[float, Range(0.2, 1.0)] = 1.0,
):
    """Logistic regression, 20 passes at `share` of 1/(3 L_max); all n directions after the first pass."""
    rng = data.generator(key)
    task = ridge_logistic(rng, samples, features, 0.05)
    step = share / (3 * task.smoothness)
    indices = rng.integers(samples, size=20 * samples)
    start = jnp.zeros(features)
    rows = jnp.asarray(indices)
    run = stochastic.saga(task.problem, start, step, rows, weight=weight, every=1, compact=False)
    points = np.asarray(run.points)
    replayed, _ = replayed_buffer(task, points, indices, len(indices))
    yield close(
        run.buffer.entries, replayed, "the buffer at the end, against the last gradient of each example", atol=1e-12
    )
    yield close(run.buffer.mean, replayed.mean(axis=0), "its mean, carried along", atol=1e-11)

    w = points[samples]
    entries, _ = replayed_buffer(task, points, indices, samples)
    buffer = stochastic.Buffer(jnp.asarray(entries), jnp.asarray(entries.mean(axis=0)))
    directions = np.asarray(stochastic.buffered_directions(task.problem, jnp.asarray(w), buffer))
    full = task.gradients(w).mean(axis=0)
    yield close(directions.mean(axis=0), full, "λ = 1: mean of all n directions, against the full gradient", atol=1e-12)
    component = task.gradients(w)[int(np.argmax(np.abs(task.gradients(w) - full).sum(axis=1)))]
    unbiased = close(
        directions.mean(axis=0), component, "mean direction, against the gradient of one example", atol=1e-6
    )
    yield printed(unbiased, "penn", "unbiased for the gradient of the drawn example, ∇ℓ^ω")

    bare = stochastic.FiniteSum(
        stochastic.LinearLoss(stochastic.logistic_of_score, jnp.asarray(0.0), 1), task.problem.arrays
    )
    dense, small = (stochastic.saga(bare, start, step, rows, weight=weight, every=1, compact=c) for c in (False, True))
    yield close(
        small.points, dense.points, "compact storage (n numbers), against dense (n × p), without penalty", atol=1e-12
    )
    gaps = task.gap(points)
    yield at_most(gaps[-1], gaps[0], "gap after 20 passes, against that at the start", strict=True)

    times = np.arange(0, len(indices), max(samples // 4, 1))[1:]
    ages, errors = [], []
    for t in times:
        entries, age = replayed_buffer(task, points, indices, t)
        fresh = task.gradients(points[t])
        made = weight * (fresh - entries) + entries.mean(axis=0)
        ages.append(age.mean() / samples)
        errors.append(np.mean(np.sum((made - fresh.mean(axis=0)) ** 2, axis=1)))
    yield figure.beside(
        f"The buffer's age settles at {ages[-1]:.2f} passes; the error falls by {errors[0] / errors[-1]:.1g}",
        figure.curves("Age of the buffer", x="passes", y="mean age / passes", points={"age": (times / samples, ages)},
                      lines={"1: entries of a uniform stream": (times / samples, np.ones(len(times)))}),
        figure.curves("Error of the direction", x="passes", y="mean squared distance to the full gradient",
                      points={"error": (times / samples, errors)}, log="y"),
    )  # fmt: skip


@method(
    "sag",
    says=(
        "SAG is the same with weight 1/n: the direction is the mean of the buffer after one entry is replaced. It is "
        "biased by (1 − 1/n) times the staleness of the mean, and converges nevertheless."
    ),
    formula=r"d = \tfrac1n (g_i(w) - G_i) + \bar G, \qquad \mathrm{E}\, d - g(w) = (1 - \tfrac1n)(\bar G - g(w))",
    sources=("penn",),
    assumes=("a finite sum of fixed functions",),
    shows=("stochastic.sag", "stochastic.BufferedRun"),
)
def sag(
    key,
    samples: Annotated[int, Range(20, 200)] = 60,
    features: Annotated[int, Range(1, 8)] = 4,
    share: Annotated[float, Range(0.0625, 1.0, log=True)] = 0.5,
):
    """Logistic regression, 20 passes at `share`/L_max (1/16 is guaranteed); the bias by enumeration along the run."""
    rng = data.generator(key)
    task = ridge_logistic(rng, samples, features, 0.05)
    step = share / task.smoothness
    indices = rng.integers(samples, size=20 * samples)
    run = stochastic.sag(task.problem, jnp.zeros(features), step, jnp.asarray(indices), every=1, compact=False)
    points = np.asarray(run.points)
    times = np.arange(0, len(indices), max(samples // 4, 1))[1:]
    measured, predicted = [], []
    for t in times:
        entries, _ = replayed_buffer(task, points, indices, t)
        fresh = task.gradients(points[t])
        full, mean_old = fresh.mean(axis=0), entries.mean(axis=0)
        directions = (fresh - entries) / samples + mean_old
        measured.append(directions.mean(axis=0) - full)
        predicted.append((1 - 1 / samples) * (mean_old - full))
    yield close(measured, predicted, "bias by enumeration along the run, against (1 − 1/n)(Ḡ − g)", atol=1e-13)
    entries, _ = replayed_buffer(task, points, indices, samples)
    buffer = stochastic.Buffer(jnp.asarray(entries), jnp.asarray(entries.mean(axis=0)))
    w = jnp.asarray(points[samples])
    ours = stochastic.buffered_directions(task.problem, w, buffer, weight=1 / samples)
    i = indices[samples]
    yield close(
        points[samples] - step * np.asarray(ours)[i],
        points[samples + 1],
        "a step of the run, from its direction",
        atol=1e-12,
    )
    gaps = task.gap(points)
    yield at_most(gaps[-1], gaps[0], "gap after 20 passes, against that at the start", strict=True)
    sizes, theory = np.linalg.norm(measured, axis=1), np.linalg.norm(predicted, axis=1)
    yield figure.curves(
        f"SAG's bias dies out with the buffer's staleness: {sizes[0]:.1g} at first, {sizes[-1]:.1g} after 20 passes",
        x="passes",
        y="norm of the bias",
        lines={"(1 − 1/n)‖Ḡ − g‖": (times / samples, theory)},
        points={"(1 − 1/n)‖Ḡ − g‖": (times / samples, sizes)},
        log="y",
    )


@method(
    "svrg",
    says=(
        "SVRG takes a snapshot with its full gradient every M steps and corrects each stochastic gradient by that of "
        "the same example at the snapshot: no buffer, two component gradients a step, n a snapshot."
    ),
    formula=r"d = g_i(w) - g_i(w_s) + g(w_s), \qquad \mathrm{E}\|d - g(w)\|^2 \le L_{\max}^2 \|w - w_s\|^2",
    sources=("sheet", "penn"),
    assumes=("a finite sum of fixed functions: with dropout or augmentation there is none",),
    shows=("stochastic.svrg", "stochastic.SnapshotRun", "stochastic.snapshot_directions", "stochastic.total_variance"),
)
def svrg(
    key,
    samples: Annotated[int, Range(20, 200)] = 60,
    features: Annotated[int, Range(1, 8)] = 4,
    inner: Annotated[float, Range(0.5, 4.0)] = 2.0,
    share: Annotated[float, Range(0.1, 1.0)] = 1.0,
    layers: Annotated[str, Choice("fixed", "dropout")] = "fixed",
):
    """Logistic regression, 8 snapshots, M = inner × n steps between them at `share` of 1/(3 L_max)."""
    assume(layers == "fixed", "a finite sum of fixed functions: dropout draws a new function at every call")
    rng = data.generator(key)
    task = ridge_logistic(rng, samples, features, 0.05)
    step, epochs, length = share / (3 * task.smoothness), 8, int(inner * samples)
    rows = rng.integers(samples, size=(epochs, length))
    run = stochastic.svrg(task.problem, jnp.zeros(features), step, jnp.asarray(rows))
    w, snapshots, variances, bounds, marks = np.zeros(features), [np.zeros(features)], [], [], []
    for epoch in range(epochs):  # the same steps in closed form, with the variance of all n directions
        old = task.gradients(snapshots[-1])
        for k, i in enumerate(rows[epoch]):
            fresh = task.gradients(w)
            if k % max(length // 12, 1) == 0:
                variances.append(np.sum(np.var(fresh - old, axis=0)))
                bounds.append(task.smoothness**2 * np.sum((w - snapshots[-1]) ** 2))
                marks.append(epoch + k / length)
            w = w - step * (fresh[i] - old[i] + old.mean(axis=0))
        snapshots.append(w)
    yield close(run.snapshots, np.stack(snapshots), "snapshots, against the steps in closed form", atol=1e-10)
    yield close(run.evaluations[1], samples + 2 * length, "component gradients of an epoch, against n + 2M", atol=0)
    somewhere = snapshots[1] + 0.1 * rng.standard_normal(features)
    directions = np.asarray(
        stochastic.snapshot_directions(task.problem, jnp.asarray(somewhere), jnp.asarray(snapshots[1]))
    )
    full = task.gradients(somewhere).mean(axis=0)
    yield close(directions.mean(axis=0), full, "mean of all n directions, against the full gradient", atol=1e-12)
    spread = float(stochastic.total_variance(jnp.asarray(directions)))
    bound = task.smoothness**2 * np.sum((somewhere - snapshots[1]) ** 2)
    yield at_most(spread, bound, "variance near a snapshot, against L_max² ‖w − w_s‖²")
    yield at_most(variances, bounds, "variance along the run, against L_max² ‖w − w_s‖²", atol=1e-15)
    gaps = task.gap(np.stack(snapshots))
    yield at_most(gaps[-1], gaps[0], "gap at the last snapshot, against that at the start")
    plain = np.sum(np.var(task.gradients(task.minimiser), axis=0))
    yield figure.curves(
        f"The variance starts from 0 at each snapshot and falls with them; SGD's stays at {plain:.2g}",
        x="epochs",
        y="variance of the direction",
        lines={"L_max²‖w − w_s‖²": (marks, bounds), "SGD at w*": ([0, epochs], [plain, plain])},
        points={"SVRG": (marks, variances)},
        log="y",
    )
