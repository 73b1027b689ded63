"""SAGA, SAG and SVRG: what their directions are, by enumeration."""

import jax.numpy as jnp
import numpy as np

from leadline import data, stochastic
from leadline.claims.scenarios.stochastic.ridge_logistic import ridge_logistic
from leadline.evidence import Int, OneOf, Real, assume, at_most, close, erratum, method
from leadline.presentation import figure
from leadline.stochastic.problems.linear_loss import logistic_of_score
from leadline.stochastic.variance_reduction.next_directions import replayed_buffer, total_variance
from leadline.stochastic.variance_reduction.variance_reduced import Buffer


@method(sources=("penn",))
def saga(
    key, samples: Int(20, 200) = 60, features: Int(1, 8) = 4, share: Real(0.1, 1.0) = 1.0, weight: Real(0.2, 1.0) = 1.0
):
    r"""SAGA incremental gradient method.

    SAGA keeps the last gradient of every example and steps along the new one minus the old one plus the mean of all
    old ones: an unbiased estimate of the full gradient, whose error dies out with the buffer's.

    $$d = \lambda (g_i(w) - G_i) + \bar G, \quad G_i \leftarrow g_i(w), \qquad \lambda = 1: \ \mathrm{E}\, d = g(w)$$

    Assumes: a finite sum of fixed functions.

    Check: 20 passes on logistic regression at step size `share` · 1/(3 Lₘₐₓ); enumerates n directions after the first.
    """
    rng = data.generator(key)
    task = ridge_logistic(rng, samples, features, 0.05)
    problem = stochastic.finite_logistic(task)
    step = share / (3 * task.largest_sample_smoothness)
    indices = rng.integers(samples, size=20 * samples)
    start, rows = jnp.zeros(features), jnp.asarray(indices)
    run = stochastic.saga(problem, start, step, rows, weight=weight, every=1, compact=False)
    points = np.asarray(run.points)
    replayed, _ = replayed_buffer(task, points, indices, len(indices))
    yield close(run.buffer.entries, replayed, "buffer at the end, against each example's last gradient", atol=1e-12)
    yield close(run.buffer.mean, replayed.mean(axis=0), "mean of the buffer, carried along", atol=1e-11)
    w = points[samples]
    entries, _ = replayed_buffer(task, points, indices, samples)
    buffer = Buffer(jnp.asarray(entries), jnp.asarray(entries.mean(axis=0)))
    directions = np.asarray(stochastic.buffered_directions(problem, jnp.asarray(w), buffer))
    each = task.sample_gradients(w)
    full, what = each.mean(axis=0), "λ = 1: mean of all n directions, against the full gradient"
    right = close(directions.mean(axis=0), full, what, atol=1e-12)
    yield right
    component = each[np.argmax(np.abs(each - full).sum(axis=1))]
    wrong = close(directions.mean(axis=0), component, "mean direction, against the gradient of one example", atol=1e-6)
    yield erratum(wrong, of=right, by="penn", prints="λ = 1 is unbiased for the sampled gradient ∇ℓ^ω(w)")
    loss = stochastic.LinearLoss(logistic_of_score, jnp.asarray(0.0), 1)
    bare = stochastic.FiniteSum(loss, problem.arrays)
    dense, small = (stochastic.saga(bare, start, step, rows, weight=weight, every=1, compact=c) for c in (False, True))
    yield close(small.points, dense.points, "points with compact storage, against dense (n × p)", atol=1e-12)
    gaps = task.gap(points)
    yield at_most(gaps[-1], gaps[0], "gap after 20 passes, against that at the start", strict=True)
    times = np.arange(0, len(indices), max(samples // 4, 1))[1:]
    ages, errors = [], []
    for t in times:
        entries, age = replayed_buffer(task, points, indices, t)
        fresh = task.sample_gradients(points[t])
        made = weight * (fresh - entries) + entries.mean(axis=0)
        ages.append(age.mean() / samples)
        errors.append(np.mean(np.sum((made - fresh.mean(axis=0)) ** 2, axis=1)))
    passes = times / samples
    points, lines = {"age": (passes, ages)}, {"1: entries of a uniform stream": (passes, np.ones(len(times)))}
    age = figure.curves("Age of the buffer", "passes", "mean age / passes", points=points, lines=lines)
    points, y = {"error": (passes, errors)}, "mean squared distance to the full gradient"
    off = figure.curves("Error of the direction", "passes", y, points=points, log="y")
    title = f"The buffer's age settles at {ages[-1]:.2f} passes; the error falls by {errors[0] / errors[-1]:.1g}"
    yield figure.beside(title, age, off)


@method(sources=("penn",))
def sag(key, samples: Int(20, 200) = 60, features: Int(1, 8) = 4, share: Real(0.0625, 1.0, log=True) = 0.5):
    r"""Stochastic average gradient (SAG).

    SAG is SAGA with weight 1/n: the direction is the mean of the buffer after one entry is replaced. It is biased by
    (1 − 1/n) times the staleness of the mean, and converges nevertheless.

    $$d = \tfrac1n (g_i(w) - G_i) + \bar G, \qquad \mathrm{E}\, d - g(w) = (1 - \tfrac1n)(\bar G - g(w))$$

    Assumes: a finite sum of fixed functions.

    Check: 20 passes on logistic regression at step size `share`/Lₘₐₓ (a share of 1/16 is guaranteed to converge).
    """
    rng = data.generator(key)
    task = ridge_logistic(rng, samples, features, 0.05)
    problem = stochastic.finite_logistic(task)
    step = share / task.largest_sample_smoothness
    indices = rng.integers(samples, size=20 * samples)
    run = stochastic.sag(problem, jnp.zeros(features), step, jnp.asarray(indices), every=1, compact=False)
    points = np.asarray(run.points)
    times = np.arange(0, len(indices), max(samples // 4, 1))[1:]
    measured, predicted = [], []
    for t in times:
        entries, _ = replayed_buffer(task, points, indices, t)
        fresh = task.sample_gradients(points[t])
        full, mean_old = fresh.mean(axis=0), entries.mean(axis=0)
        directions = (fresh - entries) / samples + mean_old
        measured.append(directions.mean(axis=0) - full)
        predicted.append((1 - 1 / samples) * (mean_old - full))
    yield close(measured, predicted, "bias by enumeration along the run, against (1 − 1/n)(Ḡ − g)", atol=1e-13)
    entries, _ = replayed_buffer(task, points, indices, samples)
    buffer = Buffer(jnp.asarray(entries), jnp.asarray(entries.mean(axis=0)))
    w = jnp.asarray(points[samples])
    ours = stochastic.buffered_directions(problem, w, buffer, weight=1 / samples)
    stepped = points[samples] - step * np.asarray(ours)[indices[samples]]
    yield close(stepped, points[samples + 1], "a step of the run, against that of its direction", atol=1e-12)
    gaps = task.gap(points)
    yield at_most(gaps[-1], gaps[0], "gap after 20 passes, against that at the start", strict=True)
    sizes, theory = np.linalg.norm(measured, axis=1), np.linalg.norm(predicted, axis=1)
    title = f"SAG's bias dies out with the buffer's staleness: {sizes[0]:.1g} at first, {sizes[-1]:.1g} after 20 passes"
    name = "(1 − 1/n)‖Ḡ − g‖"
    lines, points = {name: (times / samples, theory)}, {name: (times / samples, sizes)}
    yield figure.curves(title, "passes", "norm of the bias", lines=lines, points=points, log="y")


@method(sources=("sheet", "penn"))
def svrg(
    key,
    samples: Int(20, 200) = 60,
    features: Int(1, 8) = 4,
    inner: Real(0.5, 4.0) = 2.0,
    share: Real(0.1, 1.0) = 1.0,
    layers: OneOf("fixed", "dropout") = "fixed",
):
    r"""Stochastic variance-reduced gradient (SVRG).

    SVRG takes a snapshot with its full gradient every M steps and corrects each stochastic gradient by that of the
    same example at the snapshot: it needs no buffer, two component gradients per step, and n per snapshot.

    $$d = g_i(w) - g_i(w_s) + g(w_s), \qquad \mathrm{E}\|d - g(w)\|^2 \le L_{\max}^2 \|w - w_s\|^2$$

    Assumes: a finite sum of fixed functions, which dropout or augmentation does not give.

    Check: Logistic regression, 8 snapshots, M = `inner` × n steps between them, step size `share` · 1/(3 Lₘₐₓ).
    """
    assume(layers == "fixed", "a finite sum of fixed functions: dropout draws a new function at every call")
    rng = data.generator(key)
    task = ridge_logistic(rng, samples, features, 0.05)
    problem = stochastic.finite_logistic(task)
    step, epochs, length = share / (3 * task.largest_sample_smoothness), 8, int(inner * samples)
    rows = rng.integers(samples, size=(epochs, length))
    run = stochastic.svrg(problem, jnp.zeros(features), step, jnp.asarray(rows))
    w, snapshots, variances, bounds, marks = np.zeros(features), [np.zeros(features)], [], [], []
    for epoch in range(epochs):  # the same steps in closed form, with the variance of all n directions
        old = task.sample_gradients(snapshots[-1])
        for k, i in enumerate(rows[epoch]):
            fresh = task.sample_gradients(w)
            if k % max(length // 12, 1) == 0:
                variances.append(np.sum(np.var(fresh - old, axis=0)))
                bounds.append(task.largest_sample_smoothness**2 * np.sum((w - snapshots[-1]) ** 2))
                marks.append(epoch + k / length)
            w = w - step * (fresh[i] - old[i] + old.mean(axis=0))
        snapshots.append(w)
    yield close(run.snapshots, np.stack(snapshots), "snapshots, against the steps in closed form", atol=1e-10)
    yield close(run.evaluations[1], samples + 2 * length, "component gradients of an epoch, against n + 2M", atol=0)
    somewhere = snapshots[1] + 0.1 * rng.standard_normal(features)
    directions = stochastic.snapshot_directions(problem, jnp.asarray(somewhere), jnp.asarray(snapshots[1]))
    full = task.sample_gradients(somewhere).mean(axis=0)
    yield close(directions.mean(axis=0), full, "mean of all n directions, against the full gradient", atol=1e-12)
    spread = total_variance(directions)
    bound = task.largest_sample_smoothness**2 * np.sum((somewhere - snapshots[1]) ** 2)
    yield at_most(spread, bound, "variance near a snapshot, against L_max² ‖w − w_s‖²")
    yield at_most(variances, bounds, "variance along the run, against L_max² ‖w − w_s‖²", atol=1e-15)
    gaps = task.gap(np.stack(snapshots))
    yield at_most(gaps[-1], gaps[0], "gap at the last snapshot, against that at the start")
    plain = np.sum(np.var(task.sample_gradients(task.constants().minimiser), axis=0))
    title = f"The variance starts from 0 at each snapshot and falls with them; SGD's stays at {plain:.2g}"
    lines = {"L_max²‖w − w_s‖²": (marks, bounds), "SGD at w*": ([0, epochs], [plain, plain])}
    points = {"SVRG": (marks, variances)}
    yield figure.curves(title, "epochs", "variance of the direction", lines=lines, points=points, log="y")
