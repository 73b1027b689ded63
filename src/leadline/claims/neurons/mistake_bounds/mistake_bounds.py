"""What a margin promises: Novikoff's bound, the two lemmas behind it, and how updates follow it in practice."""

import math

import jax
import numpy as np

from leadline import data
from leadline.claims.scenarios.neurons.perceptron_runs import digit_pairs, drawn, fit_to_end, measured
from leadline.evidence import Int, OneOf, Real, at_least, at_most, claim, close, erratum, exactly
from leadline.linear_classifiers import margins, perceptrons
from leadline.presentation import figure

ORDERS = ("cyclic", "permuted", "adversarial")
Order = OneOf(*ORDERS)


@claim(sources=("eth", "penn"))
def perceptron_alignment_lemma(
    key,
    dim: Int(1, 300) = 10,
    samples: Int(2, 2000) = 200,
    margin: Real(0.01, 0.9, log=True) = 0.05,
    order: Order = "permuted",
):
    r"""Perceptron alignment lemma.

    Every update moves the perceptron's weights by at least γ along the best separating direction: ⟨w*, wₜ⟩ ≥ tγ.

    $$\langle w^*, w_t \rangle \ge t\,\gamma$$

    Assumes: w₀ = 0 and ‖w*‖ = 1; w* separates the data through the origin with margin γ > 0; t counts updates.

    Check: w* is the maximum-margin separator, and then the direction that generated the data.
    """
    x, y, direction = drawn(key, samples, dim, margin)
    best = margins.max_margin(x, y, bias=False)
    run = fit_to_end(x, y, order, key, margins.mistake_bound(best.radius, best.margin))
    weights = perceptrons.path(run, x, y).weights
    t = np.arange(len(weights))
    widest = weights @ (best.weights * best.margin)
    gamma = margins.data_margin(direction, 0.0, x, y).margin
    yield at_least(widest, t * best.margin, "⟨w*, w_t⟩ at every update, w* the widest separator", atol=1e-9)
    yield at_least(weights @ direction, t * gamma, "⟨u, w_t⟩ at every update, u the source's direction", atol=1e-9)
    title = f"After {run.updates} updates w*·w is {widest[-1]:.3g}, at least γt = {run.updates * best.margin:.3g}"
    lines, points = {f"γt, γ = {best.margin:.3g}": (t, t * best.margin)}, {f"{order} order": (t, widest)}
    yield figure.curves(title, "updates t", "w*·w after t updates", lines=lines, points=points)


@claim(sources=("eth", "sheet", "penn"))
def perceptron_norm_growth(
    key,
    dim: Int(1, 300) = 10,
    samples: Int(2, 2000) = 200,
    labels: OneOf("separable", "random") = "separable",
    order: Order = "cyclic",
):
    r"""Norm growth of the perceptron's weights.

    The perceptron's weights grow at most like a random walk: ‖wₜ‖² never exceeds the sum of ‖x‖² over its t mistakes,
    whether the data are separable or not.

    $$\|w_t\|^2 \le \sum_{s \le t} \|x_{i_s}\|^2 \le t R^2$$

    Assumes: w₀ = 0; ‖x‖ ≤ R.

    Check: Random labels make data of more than about 2·`dim` examples inseparable; the run is then cut off.
    """
    x, y, _ = drawn(key, samples, dim, 0.05)
    if labels == "random":
        y = np.asarray(data.random_signs(1, samples, key=jax.random.fold_in(key, 1))[0], float)
    run = fit_to_end(x, y, order, key, 400 if labels == "separable" else max(2, 4000 // samples))
    weights = perceptrons.path(run, x, y).weights[1:]
    squares, radius = (weights**2).sum(axis=1), float(np.linalg.norm(x, axis=1).max())
    summed = np.cumsum((x**2).sum(axis=1)[run.history])
    t = np.arange(1, len(weights) + 1)
    yield at_most(squares / summed, 1.0, "‖w_t‖² / Σ‖x‖² at every update", rtol=1e-12)
    yield at_most(squares, t * radius**2, "‖w_t‖² at every update against tR²", rtol=1e-12)
    # Orthogonal examples of different lengths: no mistake undoes another, every cross term is 0.
    lengths = np.linspace(0.1, 1.0, dim)
    orthogonal = perceptrons.learn(np.diag(lengths), np.ones(dim))
    yield exactly(orthogonal.updates, dim, "updates on orthogonal examples")
    square = np.sum(np.asarray(orthogonal.weights) ** 2)
    yield close(square, np.sum(lengths**2), "‖w_T‖² on orthogonal examples", rtol=1e-12)
    length, limit = math.sqrt(squares[-1]), radius * math.sqrt(len(t))
    title = f"After {len(t)} updates the length of w is {length:.3g}, at most R√t = {limit:.3g}"
    until, lines = len(t), {}
    if run.converged:
        gamma = margins.max_margin(x, y, bias=False).margin
        until = 1.05 * (radius / gamma) ** 2
        lines[f"γt, γ = {gamma:.3g}"] = ([0, until], [0, gamma * until])
        title += f"; γt crosses it at t = {(radius / gamma) ** 2:.4g}"
    ahead = np.linspace(0, until, 200)
    lines, points = {"R√t": (ahead, radius * np.sqrt(ahead))} | lines, {f"{labels} labels": (t, np.sqrt(squares))}
    yield figure.curves(title, "updates t", "length of w", lines=lines, points=points)


@claim(sources=("eth", "sheet", "penn"))
def novikoff_bound(
    key,
    dim: Int(1, 500) = 20,
    samples: Int(2, 5000) = 200,
    margin: Real(0.005, 0.9, log=True) = 0.1,
    order: Order = "cyclic",
):
    r"""Novikoff's mistake bound.

    On data inside a ball of radius R, separable through the origin with margin γ, the perceptron makes at most R²/γ²
    updates, in any order of presentation.

    $$T \le \lfloor R^2/\gamma^2 \rfloor$$

    Assumes: w₀ = 0; the data are separable through the origin with margin γ > 0; T counts updates.

    Check: γ is the widest margin of the drawn data, not the one asked for: the bound is the least possible.
    """
    x, y, direction = drawn(key, samples, dim, margin)
    best = margins.max_margin(x, y, bias=False)
    quotient, bound = (best.radius / best.margin) ** 2, margins.mistake_bound(best.radius, best.margin)
    run = fit_to_end(x, y, order, key, bound)
    yield at_most(run.updates, bound, f"updates, {order} order")
    yield exactly(np.sum(y * (x @ np.asarray(run.weights)) <= 0), 0, "examples not strictly correct at the stop")
    weights = perceptrons.path(run, x, y).weights[1:]
    cosines = weights @ (best.weights * best.margin) / np.linalg.norm(weights, axis=1)
    t = np.arange(1, len(weights) + 1)
    yield at_least(cosines, np.sqrt(t / quotient), "cos(w*, w_t) at every update against √t γ/R", atol=1e-9)
    yield at_most(cosines, 1.0, "cos(w*, w_t) at every update", rtol=1e-12)
    # With a bias: the same data off the origin, and the plane they came from as reference (w*, b*), ‖w*‖ = 1.
    moved, offset = x + direction / 2, -0.5
    biased = perceptrons.learn(moved, y, bias=True, epochs=100_000)
    seen = margins.data_margin(direction, offset, moved, y)
    with_bias = margins.mistake_bound(seen.radius, seen.margin, bias=offset)
    yield at_most(biased.updates, with_bias, "updates with a bias against (R² + 1)(1 + b²)/γ²")
    tight = fit_to_end(np.eye(20), np.ones(20), order, key, 20)
    edge = margins.max_margin(np.eye(20), np.ones(20), bias=False)
    both = [tight.updates, margins.mistake_bound(edge.radius, edge.margin)]
    attained = exactly(both, 20, "updates and bound on the basis vectors e₁ … e₂₀, R²/γ² = 20")
    yield attained
    keys = jax.random.split(jax.random.fold_in(key, 1), 10)
    sweep = np.array([measured(k, 20, 200, m, ORDERS) for k, m in zip(keys, np.geomspace(0.01, 0.5, 10), strict=True)])
    bounds, updates = sweep[:, 1:2], sweep[:, 2:]
    what = f"updates, {updates.size} other runs: three orders, margins 0.01 to 0.5"
    yield at_most(updates, np.floor(bounds * (1 + 1e-9)), what)
    fewer = at_most(tight.updates, 20, "updates on the basis vectors e₁ … e₂₀", strict=True)
    yield erratum(fewer, of=attained, by="eth", prints="“in less than” R²/γ² updates")
    low, high = min(1.0, quotient), max(bounds.max(), quotient) * 1.5
    under = (updates <= bounds * (1 + 1e-9)).all() and run.updates <= bound
    title = f"{run.updates} updates where R²/γ² = {quotient:.4g}" + ": all runs on or under the diagonal" * under
    lines = {"updates = R²/γ²": ([low, high], [low, high])}
    points = {f"{name} order": (bounds[:, 0], updates[:, i]) for i, name in enumerate(ORDERS)}
    points |= {"this run": ([quotient], [run.updates]), "20 basis vectors": ([20], [tight.updates])}
    yield figure.curves(title, "R²/γ²", "updates", lines=lines, points=points, log="xy")


@claim(sources=("eth", "penn"), empirical=True)
def margin_controls_updates(key, dim: Int(2, 50) = 20, samples: Int(100, 1000) = 200, order: Order = "permuted"):
    r"""Smaller margins need more updates.

    The smaller the margin, the more updates the perceptron needs: typical counts follow the bound R²/γ² from well
    below, on random data and on handwritten digits.

    $$T \ll R^2/\gamma^2, \quad T \text{ falls with } \gamma$$

    Assumes: w₀ = 0; the data are separable through the origin (digits: with a constant 1 appended).

    Check: 20 seeds at each of 8 margins over a decade; all 45 pairs of digits in ten orders each.
    """
    from scipy.stats import spearmanr

    asked, seeds = np.repeat(np.geomspace(0.03, 0.3, 8), 20), range(160)
    runs = [measured(jax.random.fold_in(key, s), dim, samples, m, (order,)) for s, m in zip(seeds, asked, strict=True)]
    gamma, quotient, updates = np.moveaxis(np.reshape(runs, (8, 20, 3)), 2, 0)
    middle_gamma, middle = np.median(gamma, axis=1), np.median(updates, axis=1)
    correlation = spearmanr(middle_gamma, middle).statistic
    yield at_most(correlation, -0.9, "Spearman correlation of margin and median updates, random data")
    yield at_most(updates / quotient, 1.0, f"updates / (R²/γ²), {updates.size} runs on random data", strict=True)
    steepness = np.polyfit(np.log(middle_gamma), np.log(middle), 1)[0]
    yield at_least(steepness, -2.0, "log-log slope of median updates in γ, random data", strict=True)
    pairs, difficulty, counts = digit_pairs(jax.random.fold_in(key, 1000))
    typical = counts.mean(axis=1)
    yield exactly(np.isfinite(difficulty).sum(), 45, "digit pairs that are separable")
    ratios = counts / difficulty[:, None]
    yield at_most(ratios, 1.0, f"updates / (R²/γ²), {counts.size} runs on digit pairs", strict=True)
    correlation = spearmanr(difficulty, typical).statistic
    yield at_least(correlation, 0.95, "Spearman correlation of bound and updates, digit pairs")
    easy, hard = difficulty.argmin(), difficulty.argmax()
    yield exactly(f"{pairs[easy]}, {pairs[hard]}", "6 vs 7, 1 vs 8", "easiest and hardest digit pair")
    yield exactly(np.floor(difficulty[[easy, hard]]), [41, 1972], "bound ⌊R²/γ²⌋ of the easiest and the hardest pair")
    line, quartiles = np.array([difficulty.min(), difficulty.max()]), np.quantile(updates, (0.25, 0.75), axis=1)
    span = counts.min(axis=1), counts.max(axis=1)
    lines = {"R²/γ²": (middle_gamma, np.median(quotient, axis=1))}
    points = {"median of 20 runs, with quartiles": (middle_gamma, middle, *quartiles)}
    title = f"random data, d = {dim}, n = {samples}"
    left = figure.curves(title, "margin γ", "updates", log="xy", lines=lines, points=points)
    lines = {"updates = R²/γ²": (line, line)}
    points = {"digit pair, mean and range of 10 runs": (difficulty, typical, *span)}
    title = f"digits: easiest {pairs[easy]}, hardest {pairs[hard]}, largest ratio {(typical / difficulty).max():.2f}"
    right = figure.curves(title, "R²/γ²", "updates", log="xy", lines=lines, points=points)
    title = f"Updates follow the margin: slope {steepness:.2f}, rank correlation {correlation:.2f} on 45 digit pairs"
    yield figure.beside(title, left, right)


@claim(sources=("penn", "sheet"))
def mistake_bound_dimension_free(
    key,
    margin: Real(0.05, 0.5, log=True) = 0.1,
    samples: OneOf(20, 200, 500) = 200,  # few sizes, because each compiles anew
    seeds: Int(2, 5) = 5,
    order: Order = "cyclic",
):
    r"""The mistake bound is dimension-free.

    R²/γ² contains neither the dimension nor the number of examples: the same line bounds the perceptron's updates in 2
    and in 10000 dimensions.

    $$T \le R^2/\gamma^2 \text{ for every } d \text{ and } n$$

    Assumes: w₀ = 0; R and γ are held fixed while d varies.

    Check: The bound does not depend on d, but the worst case at fixed d does: in one dimension one update is enough.
    """
    bound = margins.mistake_bound(1.0, margin)
    dims = (2, 10, 100, 1000, 10_000)
    updates = np.zeros((len(dims), seeds), int)
    for i, dim in enumerate(dims):
        for s in range(seeds):
            subkey = jax.random.fold_in(key, seeds * i + s)
            x, y, _ = drawn(subkey, samples, dim, margin)
            updates[i, s] = fit_to_end(x, y, order, subkey, bound).updates
    yield at_most(updates, bound, f"updates, {seeds} runs in each of 2, 10, 100, 1000, 10000 dimensions")
    line = data.separable_ball(samples, 1, margin, key=key)
    yield exactly(fit_to_end(line.x, line.y, order, key, bound).updates, 1, "updates in one dimension")
    tight = fit_to_end(np.eye(bound), np.ones(bound), order, key, bound)
    yield exactly(tight.updates, bound, f"updates on {bound} basis vectors, where d = n = ⌊R²/γ²⌋")
    medians = np.median(updates, axis=1)
    title = "Medians " + ", ".join(f"{m:.0f}" for m in medians) + f" in 2 to 10000 dimensions, all under 1/γ² = {bound}"
    points = {
        "random data, median and range": (dims, medians, updates.min(axis=1), updates.max(axis=1)),
        f"{bound} basis vectors": ([bound], [tight.updates]),
    }
    lines = {"R²/γ²": ([1, dims[-1]], [bound, bound])}
    yield figure.curves(title, "dimension d", "updates", log="x", lines=lines, points=points)
