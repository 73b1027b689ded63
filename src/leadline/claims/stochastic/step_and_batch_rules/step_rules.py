"""Rules for the step: drops on a plateau, and line searches."""

import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, stochastic
from leadline.claims.scenarios.stochastic.noisy_regression import regression_data, six_moments
from leadline.evidence import Int, OneOf, Real, at_least, at_most, claim, close, frequency, mean, method
from leadline.presentation import figure
from leadline.stochastic.runs.plateau import fall_p_value


@method(sources=("penn",))
def lr_drop_on_plateau(key, factor: Real(2.0, 10.0) = 5.0, window: Int(50, 150) = 100, runs: Int(100, 400) = 200):
    r"""Learning-rate drop on plateau.

    When the loss no longer falls significantly, divide the step size by k. On least squares each drop lowers the floor
    by a factor of about k.

    $$\eta \leftarrow \eta / k \text{ when the slope of the windowed loss is not significantly negative}$$

    Check: SGD on the six points with η = 0.15 and two drops; the loss is the mean of `runs` runs.
    """
    six = six_moments()
    x, r, h = six.x[:, 0], six.residuals, six.hessian[0, 0]
    rng = data.generator(key)
    seen = {}

    def advance(v, step, count):
        losses, own = np.empty(count), np.zeros(len(v))
        rows = rng.integers(6, size=(count, len(v)))
        for t in range(count):
            i = rows[t]
            v = v - step * x[i] * (x[i] * v - r[i])
            gaps = h / 2 * v**2
            losses[t] = gaps.mean()
            own += gaps
        seen[step] = own / count  # of the last window with this step
        return v, losses

    stairs = stochastic.drop_on_plateau(advance, np.full(runs, 3.0), 0.15, factor=factor, window=window, drops=2)
    etas = 0.15 / factor ** np.arange(3)
    floors = np.array([six.expected_gap(six.stationary(eta)) for eta in etas])
    for eta, floor in zip(etas, floors, strict=True):
        yield mean(seen[eta], floor, f"floor with step size {eta:.3g}, against the exact one")
    yield close(floors[:-1] / floors[1:], factor, "ratio of successive floors, against k", rtol=0.1)
    noise = rng.normal(size=(400, 100))
    fall = 6 * np.sqrt(1 / 10) * np.linspace(1, 0, 100)  # six standard deviations of the mean of a block
    alarms = sum(fall_p_value(row) > 0.05 for row in noise + fall)
    yield frequency(alarms, 400, 0.05, "steadily falling curve: taken for a plateau", side="at most")
    flat = sum(fall_p_value(row) <= 0.05 for row in noise)
    yield frequency(flat, 400, 0.05, "flat curve: taken for a falling one")
    times = np.unique(np.geomspace(1, len(stairs.losses), 300).round().astype(int)) - 1
    smooth = [stairs.losses[max(0, t - 10) : t + 1].mean() for t in times]
    edges, steps = np.array([1, *stairs.ends]), zip(etas, floors, strict=True)
    title = f"Each division of the step size by {factor:g} lowers the floor about as much"
    lines = {f"floor of η = {eta:.2g}": (edges[i : i + 2], np.full(2, floor)) for i, (eta, floor) in enumerate(steps)}
    points = {"measured": (times + 1, smooth)}
    yield figure.curves(title, "steps", "gap, mean of all runs", lines=lines, points=points, log="xy")


def _drawn(gaps):
    """Without what is only rounding."""
    return np.where(gaps > 1e-16, gaps, np.nan)


@method(sources=("penn",))
def stochastic_line_search(
    key,
    sufficient: Real(0.1, 0.9) = 0.5,
    reset: Real(1.2, 10.0) = 2.0,
    batch: OneOf(1, 4, 16) = 4,
    noise: Real(0.1, 2.0) = 0.5,
):
    r"""Stochastic Armijo line search.

    Armijo's rule on the current mini-batch: from ηₘₐₓ, shrink the step size until the batch loss falls by at least
    $c\, \eta\, \|g_b\|^2$; the next search begins at a multiple of the step size found. Every extra evaluation is
    counted.

    $$l_b(w - \eta g_b) \le l_b(w) - c\, \eta \|g_b\|^2$$

    Check: 200 steps on least squares with 40 examples in 5 dimensions, each of them verified on its batch.
    """
    rng = data.generator(key)
    x, y = regression_data(rng, 40, 5, noise)
    rows = rng.integers(40, size=(200, batch))
    shrink = 0.7
    rule = stochastic.armijo_rule(largest=10.0, sufficient=sufficient, shrink=shrink, reset=reset)
    run = stochastic.line_search_run(stochastic.least_squares_sum(x, y), np.zeros(5), rows, rule)
    points = np.concatenate([np.zeros((1, 5)), np.asarray(run.points)])
    steps, trials = np.asarray(run.steps), np.asarray(run.trials)
    residuals = np.einsum("tbp,tp->tb", x[rows], points[:-1]) - y[rows]
    gradients = np.einsum("tbp,tb->tp", x[rows], residuals) / batch
    squares = np.sum(gradients**2, axis=1)
    before = np.mean(residuals**2, axis=1) / 2
    after = np.mean((np.einsum("tbp,tp->tb", x[rows], points[1:]) - y[rows]) ** 2, axis=1) / 2
    moved, rounding = points[:-1] - steps[:, None] * gradients, 1e-10 * np.abs(points).max()
    yield close(points[1:], moved, "points after each step, against w − η g_b", atol=rounding)
    armijo = before - sufficient * steps * squares
    yield at_most(after, armijo, "batch loss after each step, against Armijo's", atol=1e-12 * before.max())
    bend = np.mean(np.einsum("tbp,tp->tb", x[rows], gradients) ** 2, axis=1)
    limit = 2 * (1 - sufficient) * squares / bend  # on a parabola the condition can be solved for η
    yield at_most(steps, limit, "accepted step sizes, against the largest that Armijo allows", rtol=1e-6)
    shrunk = trials > 1
    refused, least = np.where(shrunk, steps / shrink, np.inf), np.where(shrunk, limit, 0.0)
    yield at_least(refused, least, "step size tried before the accepted one, against what Armijo allows", rtol=1e-6)
    tried = np.minimum(np.concatenate([[1.0], steps[:-1]]) * reset, 10.0)
    began = tried * shrink ** (trials - 1.0)
    yield close(began, steps, "accepted step sizes, from where the search began and its trials", rtol=1e-9)
    title = f"Accepted step sizes are between {steps.min():.2g} and {steps.max():.2g}; {trials.mean():.2f} trials"
    accepted = {"accepted": (np.arange(1, 201), steps)}
    lines = {"1/L of the whole loss": ([1, 200], [1 / np.linalg.eigvalsh(x.T @ x / 40)[-1]] * 2)}
    yield figure.curves(title, "step", "accepted η", points=accepted, lines=lines, log="y")


@claim(sources=("penn",), empirical=True)
def line_search_in_sgd(key, noise: Real(0.05, 2.0, log=True) = 0.5, sufficient: Real(0.3, 0.6) = 0.5):
    r"""Line search fails under gradient noise.

    Under noise a line search optimises the wrong objective: it ends no lower than a tuned constant step size, at extra
    cost. Where every example can be fitted it works: linear convergence without knowing L.

    $$\text{noisy: } \mathrm{gap}_T \ge \min_\eta \mathrm{gap}_T(\eta),
    \qquad \text{fitted: } \mathrm{gap}_T \to 0 \text{ linearly}$$

    Check: 20 seeds of 400 gradients, b = 4, on least squares with 40 examples in 5 dimensions; constant steps exactly.
    """
    rng = data.generator(key)
    x, clean = regression_data(rng, 40, 5, 0.0)
    labels = {"noisy": clean + noise * rng.normal(size=40), "fitted": clean}
    rows = rng.integers(40, size=(20, 400, 4))
    rule = stochastic.armijo_rule(largest=10.0, sufficient=sufficient, shrink=0.7, reset=2.0)
    etas = np.geomspace(0.01, 1.0, 25)
    shown, searched, tuned = {}, {}, {}
    for name, y in labels.items():
        exact = stochastic.LeastSquaresMoments(x, y)
        problem = stochastic.least_squares_sum(x, y)
        search = jax.vmap(lambda own, p=problem: stochastic.line_search_run(p, jnp.zeros(5), own, rule))
        runs = search(jnp.asarray(rows))
        v = np.asarray(runs.points) - exact.minimiser
        searched[name] = np.einsum("rtp,pq,rtq->rt", v, exact.hessian, v) / 2
        allowed = [e for e in etas if e < 0.98 * exact.largest_step(4)]
        paths = [exact.path(np.zeros(5), np.full(400, e), 4).gaps[1:] for e in allowed]
        tuned[name] = min(paths, key=lambda gaps: gaps[-1])
        shown[name] = np.mean(runs.trials)
    final = searched["noisy"][:, 200:].mean(axis=1)
    what = "noisy: gap of the line search, against the best constant step size"
    yield mean(final, tuned["noisy"][-1], what, side="at least")
    fitted = searched["fitted"]
    yield at_most(np.median(fitted[:, -1]), 1e-10, "fitted: median gap of the line search after 400 gradients")
    needed = int(np.argmax(np.median(fitted, axis=0) <= 1e-10)) + 1
    best = min(int(np.argmax(gaps <= 1e-10)) + 1 if gaps[-1] <= 1e-10 else 400 for gaps in paths)
    yield at_most(needed, 3 * best, "fitted: gradients to 10⁻¹⁰, against 3 times those of the best constant step size")
    time, panels = np.arange(1, 401), []
    for name, title in (("noisy", f"Noise {noise:g}"), ("fitted", "Every example fitted")):
        lines = {"best constant step size": (time, _drawn(tuned[name]))}
        points = {"line search, median": (time, _drawn(np.median(searched[name], axis=0)))}
        panels.append(figure.curves(title, "gradients of a batch", "gap", lines=lines, points=points, log="y"))
    worse = final.mean() / tuned["noisy"][-1]
    title = f"Under noise the line search ends {worse:.2g} times above the best constant step size"
    yield figure.beside(f"{title}, at {shown['noisy']:.1f} extra evaluations a step", *panels)
