"""Rules for the step: drops on a plateau, and line searches."""

from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, stochastic
from leadline.claims.stochastic.noisy_regression import regression_data, six_moments
from leadline.evidence import (
    Choice,
    Range,
    at_least,
    at_most,
    claim,
    close,
    figure,
    frequency,
    mean,
    method,
    printed,
)


@method(
    "lr-drop-on-plateau",
    says=(
        "When the loss no longer falls significantly, divide the step by k. On least squares each drop lowers the "
        "floor by about k."
    ),
    formula=r"\eta \leftarrow \eta / k \text{ when the slope of the windowed loss is not significantly negative}",
    sources=("penn",),
    shows=("stochastic.drop_on_plateau", "stochastic.fall_p_value"),
)
def lr_drop_on_plateau(
    key,
    factor: Annotated[float, Range(2.0, 10.0)] = 5.0,
    window: Annotated[int, Range(50, 150)] = 100,
    runs: Annotated[int, Range(100, 400)] = 200,
):
    """SGD on the six points, the loss averaged over `runs` runs, η = 0.15, two drops; floors against the exact ones."""
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
    floors = np.array([float(six.expected_gap(six.stationary(eta))) for eta in etas])
    for eta, floor in zip(etas, floors, strict=True):
        yield mean(seen[eta], floor, f"floor with step {eta:.3g}, against the exact one")
    yield close(floors[:-1] / floors[1:], factor, "ratio of successive floors, against k", rtol=0.1)

    noise = rng.normal(size=(400, 100))
    fall = (
        6 * np.sqrt(1 / 10) * np.linspace(1, 0, 100)
    )  # six standard deviations of the mean of a block, over the window
    alarms = sum(stochastic.fall_p_value(row) > 0.05 for row in noise + fall)
    yield frequency(alarms, 400, 0.05, "steadily falling curve: taken for a plateau", side="at most")
    flat = sum(stochastic.fall_p_value(row) <= 0.05 for row in noise)
    yield frequency(flat, 400, 0.05, "flat curve: taken for a falling one")
    times = np.unique(np.geomspace(1, len(stairs.losses), 300).round().astype(int)) - 1
    smooth = [stairs.losses[max(0, t - 10) : t + 1].mean() for t in times]
    edges = np.array([1, *stairs.ends])
    yield figure.curves(
        f"Each division of the step by {factor:g} lowers the floor {floors[0] / floors[1]:.2f} and "
        f"{floors[1] / floors[2]:.2f} times",
        x="steps",
        y="gap, mean of all runs",
        lines={
            f"floor of η = {eta:.2g}": (edges[i : i + 2], np.full(2, floor))
            for i, (eta, floor) in enumerate(zip(etas, floors, strict=True))
        },
        points={"measured": (times + 1, smooth)},
        log="xy",
    )


def _drawn(gaps):
    """Without what is only rounding."""
    return np.where(gaps > 1e-16, gaps, np.nan)


@method(
    "stochastic-line-search",
    says=(
        "Armijo's rule on the current mini-batch: from η_max, shrink the step until the batch loss falls by at least "
        "cη‖g_b‖²; the next search begins at a multiple of the step found. Every extra evaluation is counted."
    ),
    formula=r"l_b(w - \eta g_b) \le l_b(w) - c\, \eta \|g_b\|^2",
    sources=("penn",),
    shows=("stochastic.armijo_rule", "stochastic.line_search_run"),
)
def stochastic_line_search(
    key,
    sufficient: Annotated[float, Range(0.1, 0.9)] = 0.5,
    reset: Annotated[float, Range(1.2, 10.0)] = 2.0,
    batch: Annotated[int, Choice(1, 4, 16)] = 4,
    noise: Annotated[float, Range(0.1, 2.0)] = 0.5,
):
    """Least squares, 40 examples in 5 dimensions, 200 steps, each of them verified on its batch."""
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
    yield close(
        points[1:], points[:-1] - steps[:, None] * gradients, "each step is −η g_b", atol=1e-10 * np.abs(points).max()
    )
    yield at_most(
        after,
        before - sufficient * steps * squares,
        "batch loss after each step, against Armijo's",
        atol=1e-12 * before.max(),
    )
    bend = np.mean(np.einsum("tbp,tp->tb", x[rows], gradients) ** 2, axis=1)
    limit = 2 * (1 - sufficient) * squares / bend  # on a parabola the condition can be solved for η
    yield at_most(steps, limit, "accepted steps, against the largest that Armijo allows", rtol=1e-6)
    shrunk = trials > 1
    yield at_least(
        np.where(shrunk, steps / shrink, np.inf),
        np.where(shrunk, limit, 0.0),
        "the trial before was refused",
        rtol=1e-6,
    )
    tried = np.minimum(np.concatenate([[1.0], steps[:-1]]) * reset, 10.0)
    yield close(tried * shrink ** (trials - 1.0), steps, "steps, from where the search began and its trials", rtol=1e-9)
    yield figure.curves(
        f"Accepted steps wander between {steps.min():.2g} and {steps.max():.2g}; {trials.mean():.2f} evaluations of "
        "the batch loss a step",
        x="step",
        y="accepted η",
        points={"accepted": (np.arange(1, 201), steps)},
        lines={"1/L of the whole loss": ([1, 200], [1 / np.linalg.eigvalsh(x.T @ x / 40)[-1]] * 2)},
        log="y",
    )


@claim(
    "line-search-in-sgd",
    says=(
        "Under noise a line search optimises the wrong objective: it ends no lower than a tuned constant step, at "
        "extra cost. Where every example can be fitted it works: linear convergence without knowing L."
    ),
    formula=r"\text{noisy: } gap_T \ge \min_\eta gap_T(\eta), \qquad \text{fitted: } gap_T \to 0 \text{ linearly}",
    sources=("penn",),
    empirical=True,
)
def line_search_in_sgd(
    key,
    noise: Annotated[float, Range(0.05, 2.0, log=True)] = 0.5,
    sufficient: Annotated[float, Range(0.3, 0.6)] = 0.5,
):
    """Least squares, 40 examples in 5 dimensions, b = 4, 20 seeds, 400 gradients; constant steps by exact moments."""
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
        runs = jax.vmap(lambda own, p=problem: stochastic.line_search_run(p, jnp.zeros(5), own, rule))(
            jnp.asarray(rows)
        )
        v = np.asarray(runs.points) - exact.minimiser
        searched[name] = np.einsum("rtp,pq,rtq->rt", v, exact.hessian, v) / 2
        allowed = [e for e in etas if e < 0.98 * exact.largest_step(4)]
        paths = [exact.path(np.zeros(5), np.full(400, e), 4).gaps[1:] for e in allowed]
        tuned[name] = min(paths, key=lambda gaps: gaps[-1])
        shown[name] = float(np.mean(runs.trials))
    final = searched["noisy"][:, 200:].mean(axis=1)
    yield mean(
        final, tuned["noisy"][-1], "noisy: gap of the line search, against the best constant step", side="at least"
    )
    fitted = searched["fitted"]
    yield at_most(np.median(fitted[:, -1]), 1e-10, "fitted: median gap after 400 gradients")
    needed = int(np.argmax(np.median(fitted, axis=0) <= 1e-10)) + 1
    best = min(int(np.argmax(gaps <= 1e-10)) + 1 if gaps[-1] <= 1e-10 else 400 for gaps in paths)
    yield at_most(needed, 3 * best, "fitted: gradients to 10⁻¹⁰, against 3 times those of the best constant step")
    yield printed(
        mean(fitted[:, -1], tuned["noisy"][-1], "fitted: gap of the line search", side="at least"),
        "penn", "line search is of little use in SGD",
    )  # fmt: skip
    time = np.arange(1, 401)[::8]
    panels = [
        figure.curves(
            title,
            x="gradients of a batch",
            y="gap",
            lines={"best constant step": (time, _drawn(tuned[name][::8]))},
            points={"line search, median": (time, _drawn(np.median(searched[name], axis=0)[::8]))},
            log="y",
        )
        for name, title in (("noisy", f"Noise {noise:g}"), ("fitted", "Every example fitted"))
    ]
    yield figure.beside(
        f"Under noise the line search ends {final.mean() / tuned['noisy'][-1]:.2g} times above the best constant "
        f"step, at {shown['noisy']:.1f} extra evaluations a step; fitted, it needs {needed} gradients against {best}",
        *panels,
    )
