"""Margins: what they are, the widest one, and the set of all classifiers that separate the data."""

import jax
import numpy as np

from leadline import data
from leadline.evidence import Int, Real, claim, erratum, instrument, method
from leadline.evidence.relations import at_least, at_most, close, exactly, frequency
from leadline.linear_classifiers import dichotomies, margins, perceptrons
from leadline.presentation import figure
from leadline.presentation.figure.plane_shapes import arc, band, boundary, by_sign, polar, square


@instrument(sources=("eth", "penn", "sheet"))
def margin(
    key,
    samples: Int(4, 500) = 120,
    gap: Real(0.01, 0.8, log=True) = 0.15,
    scale: Real(1e-6, 1e6, log=True) = 1000.0,
    majority: Int(3, 200) = 20,
):
    r"""Geometric margin.

    A point's margin is its signed distance from the decision plane. The data's margin γ is the least of them, and the
    classifier separates the data iff γ > 0.

    $$\gamma = \min_i \frac{y_i (w \cdot x_i + b)}{\|w\|}$$

    Assumes: labels are −1 or +1; w ≠ 0.

    Check: `scale` multiplies (w, b); `majority` examples outweigh the one that the average margin neglects.
    """
    x, y, w = _both_labels(data.separable_ball(samples, 2, gap, key=key))
    x, b = x + 0.5 * w, -0.5
    found = margins.data_margin(w, b, x, y)
    again = margins.data_margin(scale * w, scale * b, x, y)
    yield close(again.points, found.points, "margins after scaling (w, b)", rtol=1e-12, atol=1e-12)
    yield exactly(again.support, found.support, "support points after scaling (w, b)")
    yield close(
        found.difficulty,
        (np.linalg.norm(x, axis=1).max() / found.points.min()) ** 2,
        "R²/γ² of the data, against its definition",
        rtol=1e-12,
    )
    score = margins.network_margins(lambda z: scale * (z @ w + b), x, y, last_weights=scale * w)
    yield close(score, found.points, "margin of the same classifier as a network's last layer", rtol=1e-12, atol=1e-12)
    yield exactly(_refuses(lambda: margins.point_margins(0 * w, b, x, y)), "ValueError", "answer at w = 0")
    # All examples but one are (0.1, 1), the last (0.1, −0.005): their mean separates with less margin than e₁.
    lopsided = np.array([[0.1, 1.0]] * majority + [[0.1, -0.005]])
    positive = np.ones(len(lopsided))
    best = margins.max_margin(lopsided, positive, bias=False)
    least = margins.data_margin(lopsided.mean(axis=0), 0.0, lopsided, positive).margin
    widest = close(best.margin, 0.1, "largest minimum margin of a separable sample", rtol=1e-9)
    yield widest
    average = close(least, 0.1, "minimum margin of the direction of largest average margin", rtol=1e-9)
    yield erratum(average, of=widest, by="penn", prints="take the w* of largest average margin, then ρ = minᵢ ρᵢ")
    domain = square(x)
    across, up = (np.linspace(*side, 44) for side in domain)
    height = (across[None, :] * w[0] + up[:, None] * w[1] + b) / found.margin
    lines = band(w, b, found.margin)
    circles = {"support": x[found.support]}
    regions = (across, up, np.clip(height, -1, 1))
    left = figure.plane(
        "data and band", "x₁", "x₂", points=by_sign(x, y), lines=lines, circles=circles, domain=domain, regions=regions
    )
    rules = {"plane": ("x", 0.0), f"γ = {found.margin:.3g}": ("x", found.margin)}
    right = figure.histogram("margins by class", "margin", samples=by_sign(found.points, y), rules=rules, bins=15)
    title = f"The least of {samples} margins is γ = {found.margin:.3g}: the band between the classes is 2γ wide"
    yield figure.beside(title, left, right)


@claim(sources=("eth",))
def margin_sign(key, dim: Int(1, 50) = 3, samples: Int(200, 5000) = 1000, largest: Int(1, 20) = 2):
    r"""A positive margin means correct.

    A classifier is right about a point exactly when the point's margin is positive, provided that labels are −1 and +1
    and that a point on the plane counts as an error.

    $$\mathrm{sgn}(w \cdot x + b) = y \iff y\,(w \cdot x + b)/\|w\| > 0$$

    Assumes: y ∈ {−1, +1}; sgn(0) = 0.

    Check: Whole numbers up to `largest`: scores are exact and many points lie exactly on the plane.
    """
    rng = data.generator(key)
    w, b = rng.integers(-largest, largest + 1, dim).astype(float), float(rng.integers(-largest, largest + 1))
    w[0] = w[0] or 1.0
    x = rng.integers(-largest, largest + 1, (samples, dim)).astype(float)
    x[0] = 0.0
    x[0, 0] = -b / w[0]  # whatever the draw, one point is on the plane: w₁x₁ + b = 0 up to rounding,
    b = -w[0] * x[0, 0]  # and exactly so with the bias that these numbers give.
    y = np.where(rng.random(samples) < 0.5, 1.0, -1.0)
    y[0] = 1.0
    wide = np.asarray(margins.point_margins(w, b, x, y)) > 0
    on_plane = x @ w + b == 0
    right = np.asarray(perceptrons.LinearThreshold(w, b)(x)) == y
    yield exactly(right, wide, f"correct against margin > 0, {on_plane.sum()} points on the plane")
    fires = np.asarray(perceptrons.LinearThreshold(w, b, at_zero=1)(x)) == y
    tied = (on_plane & (y > 0)).sum()
    yield exactly((fires != wide).sum(), tied, "disagreements if sgn(0) = +1: the positive points on the plane")
    target = (y + 1) / 2
    correct = (x @ w + b > 0) == (target > 0)
    wide01 = np.asarray(margins.point_margins(w, b, x, target)) > 0
    zeros = (correct & (target == 0)).sum()
    yield exactly((correct != wide01).sum(), zeros, "disagreements if y ∈ {0, 1}: every correct zero")
    conventions = {"as stated": right != wide, "sgn(0) = +1": fires != wide, "labels 0, 1": correct != wide01}
    disagree = {name: int(differ.sum()) for name, differ in conventions.items()}
    stated, tie, zero = disagree.values()
    title = f"“Margin > 0” and “correct” differ on {stated}, {tie} and {zero} of {samples} points"
    yield figure.bars(title, "convention", "points where they differ", values={"differ": disagree})


@method(sources=("eth", "penn", "sheet"))
def max_margin_classifier(
    key,
    dim: Int(1, 200) = 10,
    samples: Int(4, 1000) = 120,
    gap: Real(0.01, 0.5, log=True) = 0.1,
    ridge: Real(0.01, 10.0, log=True) = 0.1,
):
    r"""Maximum-margin classifier (hard-margin SVM).

    The hard-margin problem finds the separating plane of largest margin γ* = 1/‖w*‖; a few support vectors hold it in
    place.

    $$\min_{w,b} \tfrac12 \|w\|^2 \ \text{ subject to } \ y_i (w \cdot x_i + b) \ge 1, \qquad \gamma^* = 1/\|w^*\|$$

    Assumes: labels are −1 or +1; the data are separable (for the soft margin, any data).

    Check: The optimality conditions are recomputed from the solution; by convexity they prove it optimal.
    """
    x, y, _ = _both_labels(data.separable_ball(samples, dim, gap, key=key))
    moved = x + 1.0
    plain, biased = margins.max_margin(x, y, bias=False), margins.max_margin(moved, y)
    yield at_most(_violation(plain, x, y, bias=False), 1e-6, "violation of the optimality conditions, b = 0")
    yield at_most(_violation(biased, moved, y, bias=True), 1e-6, "violation of the optimality conditions, with a bias")
    yield at_least(biased.margin, plain.margin, "margin with a bias against b = 0", rtol=1e-9)
    rivals = [
        perceptrons.learn(x, y, order="permuted", key=jax.random.fold_in(key, s), epochs=20_000) for s in range(5)
    ]
    margins_of_rivals = [margins.data_margin(run.weights, 0.0, x, y).margin for run in rivals]
    yield at_most(margins_of_rivals, plain.margin, "margin of perceptron outputs against γ*", rtol=1e-9)
    a, c = x[0], x[1] + 3.0
    two = margins.max_margin(np.stack([a, c]), np.array([1.0, -1.0]))
    yield close(two.margin, np.linalg.norm(a - c) / 2, "γ* of two points: half their distance", rtol=1e-9)
    basis = margins.max_margin(np.eye(dim), np.ones(dim), bias=False)
    yield close(basis.margin, dim**-0.5, f"γ* of {dim} basis vectors, b = 0: 1/√n", rtol=1e-9)
    noisy = np.where(np.arange(samples) % 5 == 4, -y, y)  # the first two keep both labels
    soft = margins.soft_margin(moved, noisy, ridge=ridge)
    hinge = np.maximum(0, 1 - noisy * (moved @ biased.weights + biased.bias)).mean() + ridge / 2 / biased.margin**2
    what = "hinge plus ridge at its minimum, a fifth of the labels flipped"
    yield at_most(soft.objective, min(hinge, 1.0), what, rtol=1e-5)
    flat = data.separable_ball(samples, 2, gap, key=key)
    points, labels = np.asarray(flat.x), np.asarray(flat.y)
    widest = margins.max_margin(points, labels, bias=False)
    rival = perceptrons.learn(points, labels, epochs=20_000)
    theirs = margins.data_margin(rival.weights, 0.0, points, labels).margin
    title = f"{widest.support.sum()} points hold the band: γ* = {widest.margin:.3g}; a perceptron's γ is {theirs:.3g}"
    dots = by_sign(points, labels)
    lines = band(widest.weights, 0.0, widest.margin) | {"perceptron": boundary(rival.weights, 0.0)}
    circles = {"support": points[widest.support]}
    yield figure.plane(title, "x₁", "x₂", points=dots, lines=lines, circles=circles, domain=((-1.1, 1.1), (-1.1, 1.1)))


@instrument(sources=("eth",))
def version_space(key, points: Int(2, 12) = 8, dim: Int(2, 3) = 3, directions: Int(1000, 50_000, log=True) = 10_000):
    r"""Volume of the version space.

    The version space is the open cone of all classifiers that are right on the data. Its size is the share of
    directions that it covers, and each example cuts it.

    $$V(S) = \{(w, b) : y_i (w \cdot x_i + b) > 0 \ \forall i\}, \qquad \text{mean share of a cell} = 1/C(n, d)$$

    Assumes: labels are −1 or +1; points in general position (for the mean share 1/C(n, d)).

    Check: The cells of the realisable labellings tile the sphere, so their shares average 1/C(n, d).
    """
    x = np.asarray(jax.random.normal(key, (points, dim)))
    cells = dichotomies.enumerate_cells(x).signs
    number = dichotomies.cover_count(points, dim)
    yield exactly(len(cells), number, f"realisable labelings of {points} points against C({points}, {dim})")
    if dim == 2:
        shares = np.array([margins.version_arcs(x, y).share[-1] for y in cells])
        yield close(shares.mean(), 1 / number, "mean share of a cell, exact arcs", rtol=1e-9)
        yield at_least(shares, 0.0, "share of each realisable cell", strict=True)
    else:
        keys = [jax.random.fold_in(key, i) for i in range(len(cells))]
        found = [margins.version_share(x, y, samples=directions, key=k) for k, y in zip(keys, cells, strict=True)]
        hits = sum(share.hits[-1] for share in found)
        yield frequency(hits, directions * number, 1 / number, "mean share of a cell, sampled directions")
    flat = np.asarray(jax.random.normal(jax.random.fold_in(key, 1), (points, 2)))
    labels = np.where(flat @ np.asarray(jax.random.normal(jax.random.fold_in(key, 2), (2,))) > 0, 1.0, -1.0)
    arcs = margins.version_arcs(flat, labels)
    shown = np.unique(np.geomspace(1, points, 5).astype(int)) - 1
    radii = 1 - 0.13 * np.arange(len(shown))
    names = [f"after {k + 1} point{'s' * bool(k)}: {arcs.share[k]:.3g}" for k in shown]
    title = f"{points} points shrink the arc of right classifiers from {arcs.share[0]:.2g} to {arcs.share[-1]:.2g}"
    lines = {n: arc(arcs.low[k], arcs.high[k], r) for n, k, r in zip(names, shown, radii, strict=True)}
    middle = polar((arcs.low[-1] + arcs.high[-1]) / 2, radii[-1])
    arrows, domain = {"a classifier still right": ((0.0, 0.0), middle)}, ((-1.15, 1.15), (-1.15, 1.15))
    yield figure.plane(title, "w₁", "w₂", lines=lines, arrows=arrows, domain=domain)


@claim(sources=("eth",))
def version_space_halfspaces(key, points: Int(2, 60) = 20, dim: Int(3, 20) = 5, trials: Int(20, 200) = 60):
    r"""Version space as intersection of half-spaces.

    The version space is the intersection of one open half-space for each example: more data never enlarge it, and the
    data are separable iff it is not empty.

    $$V(S) = \bigcap_i \{w : y_i\, w \cdot x_i > 0\}, \qquad S \subseteq S' \Rightarrow V(S') \subseteq V(S)$$

    Assumes: labels are −1 or +1.
    """
    x, y, _ = (np.asarray(part) for part in data.separable_ball(points, dim, 0.02, key=key))
    # Members of V(S'): positive mixtures of separators that perceptrons find; V is a convex cone.
    keys = [jax.random.fold_in(key, s) for s in range(10)]
    found = [perceptrons.learn(x, y, order="permuted", key=k, epochs=3000).weights for k in keys]
    mixed = data.generator(key).exponential(size=(500, 10)) @ np.stack(found)
    half = slice(0, (points + 1) // 2)
    scores = y[:, None] * (x @ mixed.T)
    inside = mixed[(scores > 0).all(axis=0)]
    yield exactly(len(inside), len(mixed), "mixtures of separators of S′ that separate S′")
    yield at_least(y[half, None] * (x[half] @ inside.T), 0.0, "score of members of V(S′) on the subset S", strict=True)
    share = margins.version_share(x, y, samples=20_000, key=jax.random.fold_in(key, 1))
    yield at_most(np.diff(share.share), 0.0, f"growth of the share with each point, d = {dim}")
    rng = data.generator(jax.random.fold_in(key, 2))
    angles = (np.arange(3600) + 0.5) * np.pi / 1800
    grid = np.stack([np.cos(angles), np.sin(angles)])
    growth, verdicts, arcs_left, missed = [], [], [], []
    for _ in range(trials):
        plane = rng.normal(size=(rng.integers(2, 7), 2))
        labels = np.where(rng.random(len(plane)) < 0.5, 1.0, -1.0)
        arcs = margins.version_arcs(plane, labels)
        growth += np.diff(arcs.share).tolist()
        arcs_left.append(bool(arcs.share[-1] > 0))
        verdicts.append(margins.separate(plane, labels, bias=False).separable)
        product = (labels[:, None] * (plane @ grid) > 0).all(axis=0)  # the half-planes, one by one
        missed.append(abs(product.mean() - arcs.share[-1]))
    yield at_most(growth, 0.0, "growth of the exact share with each point, d = 2")
    what = f"linear programme's verdict against a non-empty arc, {sum(arcs_left)} of {trials} samples separable"
    yield exactly(verdicts, arcs_left, what)
    yield at_most(missed, 1 / 3600, "share of 3600 directions in all half-planes against the arc", atol=1e-12)
    title = f"{points} points leave {share.share[-1]:.2g} of all directions in {dim} dimensions; the share never grows"
    dots = {"of 20000 directions, with 95% interval": (np.arange(1, points + 1), share.share, share.low, share.high)}
    yield figure.curves(title, "points", "share of directions in V(S)", log="y", points=dots)


def _both_labels(sample):
    """The sample in NumPy; the first example is reflected through the origin if it has the second one's label."""
    x, y, direction = (np.array(part) for part in sample)
    if y[0] == y[1]:
        x[0], y[0] = -x[0], -y[0]
    return x, y, direction


def _violation(best, x, y, *, bias: bool) -> float:
    """Largest relative violation: feasibility, complementarity, a ≥ 0, w = Σ a y x and (with a bias) Σ a y = 0."""
    w, a = best.weights, best.multipliers
    scores = y * (x @ w + best.bias)
    return max(
        (1 - scores).max(),
        np.abs(a * (scores - 1)).max() / a.max(),
        -a.min(),
        np.linalg.norm(w - (a * y) @ x) / np.linalg.norm(w),
        abs(a @ y) / a.sum() if bias else 0.0,
    )


def _refuses(call) -> str:
    try:
        call()
    except ValueError:
        return "ValueError"
    return "an answer"
