"""Margins: what they are, the widest one, and the set of all classifiers that separate the data."""

from typing import Annotated

import jax
import numpy as np

from leadline import data, dichotomies, margins, perceptrons
from leadline.claims.neurons.plane_shapes import arc, band, boundary, polar, square
from leadline.evidence import (
    Range,
    at_least,
    at_most,
    claim,
    close,
    exactly,
    figure,
    frequency,
    instrument,
    method,
    printed,
)  # fmt: skip


@instrument(
    "margin",
    says=(
        "A point's margin is its signed distance from the decision plane; the data's margin γ is the least of "
        "them, and the classifier separates iff γ > 0."
    ),
    formula=r"\gamma = \min_i \frac{y_i (w \cdot x_i + b)}{\|w\|}",
    sources=("eth", "penn", "sheet"),
    assumes=("labels are −1 or +1", "w ≠ 0"),
    shows=("margins.point_margins", "margins.data_margin", "margins.DataMargin", "margins.network_margins"),
)
def margin(
    key,
    samples: Annotated[int, Range(4, 500)] = 120,
    gap: Annotated[float, Range(0.01, 0.8, log=True)] = 0.15,
    scale: Annotated[float, Range(1e-6, 1e6, log=True)] = 1000.0,
    majority: Annotated[int, Range(3, 200)] = 20,
):
    """`scale` multiplies (w, b). `majority` examples on one side outweigh the one that the average margin gives up."""
    x, y, w = _both_labels(data.separable_ball(samples, 2, gap, key=key))
    x, b = x + 0.5 * w, -0.5
    found = margins.data_margin(w, b, x, y)
    again = margins.data_margin(scale * w, scale * b, x, y)
    yield close(again.points, found.points, "margins after scaling (w, b)", rtol=1e-12, atol=1e-12)
    yield exactly(again.support, found.support, "support points after scaling (w, b)")
    yield close(found.difficulty, (np.linalg.norm(x, axis=1).max() / found.points.min()) ** 2, "R²/γ²", rtol=1e-12)
    score = margins.network_margins(lambda z: scale * (z @ w + b), x, y, last_weights=scale * w)
    yield close(score, found.points, "margin of the same classifier as a network's last layer", rtol=1e-12, atol=1e-12)
    yield exactly(_refuses(lambda: margins.point_margins(0 * w, b, x, y)), "ValueError", "answer at w = 0")

    # All examples but one lie along (0.1, 1), the last along (0.1, -1): e₁ separates them, their mean does not.
    lopsided = np.array([[0.1, 1.0]] * majority + [[0.1, -1.0]])
    positive = np.ones(len(lopsided))
    best = margins.max_margin(lopsided, positive, bias=False)
    least = margins.data_margin(lopsided.mean(axis=0), 0.0, lopsided, positive).margin
    yield close(best.margin, 0.1, "largest minimum margin of a separable sample", rtol=1e-9)
    yield printed(
        at_least(least, 0.0, "minimum margin of the direction of largest average margin", strict=True),
        "penn", "take the direction with the largest average margin",
    )  # fmt: skip

    domain = square(x)
    across, up = (np.linspace(*side, 44) for side in domain)
    height = (across[None, :] * w[0] + up[:, None] * w[1] + b) / found.margin
    yield figure.beside(
        f"The least of {samples} margins is γ = {found.margin:.3g}: the band between the classes is 2γ wide",
        figure.plane(
            "data and band", x="x₁", y="x₂",
            points={"y = +1": x[y > 0], "y = −1": x[y < 0]},
            lines=band(w, b, found.margin), circles={"support": x[found.support]}, domain=domain,
            regions=(across, up, np.clip(height, -1, 1)),
        ),
        figure.histogram(
            "margins by class", x="margin",
            samples={"y = +1": found.points[y > 0], "y = −1": found.points[y < 0]},
            rules={"plane": ("x", 0.0), f"γ = {found.margin:.3g}": ("x", found.margin)}, bins=15,
        ),
    )  # fmt: skip


@claim(
    "margin-sign",
    says=(
        "A classifier is right about a point exactly when the point's margin is positive, if labels are −1 and +1 "
        "and a point on the plane counts as an error."
    ),
    formula=r"\mathrm{sgn}(w \cdot x + b) = y \iff y\,(w \cdot x + b)/\|w\| > 0",
    sources=("eth",),
    assumes=("y ∈ {−1, +1}", "sgn(0) = 0"),
)
def margin_sign(
    key,
    dim: Annotated[int, Range(1, 50)] = 3,
    samples: Annotated[int, Range(200, 5000)] = 1000,
    largest: Annotated[int, Range(1, 20)] = 2,
):
    """Whole numbers up to `largest` in absolute value: scores are exact and many points lie on the plane exactly."""
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
    yield exactly(right, wide, f"correct and margin > 0, {int(on_plane.sum())} points on the plane")

    fires = np.asarray(perceptrons.LinearThreshold(w, b, at_zero=1)(x)) == y
    yield exactly(
        (fires != wide).sum(),
        (on_plane & (y > 0)).sum(),
        "disagreements if sgn(0) = +1: the positive points on the plane",
    )
    target = (y + 1) / 2
    correct = (x @ w + b > 0) == (target > 0)
    wide01 = np.asarray(margins.point_margins(w, b, x, target)) > 0
    yield exactly(
        (correct != wide01).sum(), (correct & (target == 0)).sum(), "disagreements if y ∈ {0, 1}: every correct zero"
    )
    disagree = {
        "as stated": int((right != wide).sum()),
        "sgn(0) = +1": int((fires != wide).sum()),
        "labels 0, 1": int((correct != wide01).sum()),
    }
    stated, tie, zero = disagree.values()
    yield figure.bars(
        f"“Margin > 0” and “correct” differ on {stated} of {samples} points as stated, on {tie} with sgn(0) = "
        f"+1, on {zero} with labels 0, 1",
        x="convention", y="points where they differ", values={"differ": disagree},
    )  # fmt: skip


@method(
    "max-margin-classifier",
    says=(
        "The hard-margin problem finds the separating plane of largest margin γ* = 1/‖w*‖; a few support points "
        "hold it in place."
    ),
    formula=(
        r"\min_{w,b} \tfrac12 \|w\|^2 \ \text{ subject to } \ y_i (w \cdot x_i + b) \ge 1, \qquad \gamma^* = "
        r"1/\|w^*\|"
    ),
    sources=("eth", "penn", "sheet"),
    assumes=("labels are −1 or +1", "the data are separable (soft margin: any data)"),
    shows=("margins.max_margin", "margins.MaxMargin", "margins.soft_margin", "margins.SoftMargin"),
)
def max_margin_classifier(
    key,
    dim: Annotated[int, Range(1, 200)] = 10,
    samples: Annotated[int, Range(4, 1000)] = 120,
    gap: Annotated[float, Range(0.01, 0.5, log=True)] = 0.1,
    ridge: Annotated[float, Range(0.01, 10.0, log=True)] = 0.1,
):
    """Optimality conditions are recomputed here from the answer; convexity makes them a proof."""
    x, y, _ = _both_labels(data.separable_ball(samples, dim, gap, key=key))
    moved = x + 1.0
    plain, biased = margins.max_margin(x, y, bias=False), margins.max_margin(moved, y)
    yield at_most(_violation(plain, x, y, bias=False), 1e-6, "violation of the optimality conditions, b = 0")
    yield at_most(_violation(biased, moved, y, bias=True), 1e-6, "violation of the optimality conditions, with a bias")
    yield at_least(biased.margin, plain.margin, "margin with a bias against b = 0", rtol=1e-9)

    rivals = [perceptrons.fit(x, y, order="permuted", key=jax.random.fold_in(key, s), epochs=20_000) for s in range(5)]
    margins_of_rivals = [margins.data_margin(run.weights, 0.0, x, y).margin for run in rivals]
    yield at_most(margins_of_rivals, plain.margin, "margin of perceptron outputs against γ*", rtol=1e-9)

    a, c = x[0], x[1] + 3.0
    yield close(
        margins.max_margin(np.stack([a, c]), np.array([1.0, -1.0])).margin,
        np.linalg.norm(a - c) / 2,
        "γ* of two points: half their distance",
        rtol=1e-9,
    )
    yield close(
        margins.max_margin(np.eye(dim), np.ones(dim), bias=False).margin,
        dim**-0.5,
        f"γ* of {dim} basis vectors, b = 0: 1/√n",
        rtol=1e-9,
    )

    noisy = np.where(np.arange(samples) % 5 == 4, -y, y)  # the first two keep both labels
    soft = margins.soft_margin(moved, noisy, ridge=ridge)
    hinge = np.maximum(0, 1 - noisy * (moved @ biased.weights + biased.bias)).mean() + ridge / 2 / biased.margin**2
    yield at_most(
        soft.objective, min(hinge, 1.0), "hinge plus ridge at its minimum, a fifth of the labels flipped", rtol=1e-5
    )

    flat = data.separable_ball(samples, 2, gap, key=key)
    points, labels = np.asarray(flat.x), np.asarray(flat.y)
    widest = margins.max_margin(points, labels, bias=False)
    rival = perceptrons.fit(points, labels, epochs=20_000)
    theirs = margins.data_margin(rival.weights, 0.0, points, labels).margin
    yield figure.plane(
        f"{int(widest.support.sum())} support points hold the widest band: γ* = {widest.margin:.3g}, a "
        f"perceptron's is {theirs:.3g}",
        x="x₁", y="x₂",
        points={"y = +1": points[labels > 0], "y = −1": points[labels < 0]},
        lines=band(widest.weights, 0.0, widest.margin) | {"perceptron": boundary(rival.weights, 0.0)},
        circles={"support": points[widest.support]}, domain=((-1.1, 1.1), (-1.1, 1.1)),
    )  # fmt: skip


@instrument(
    "version-space",
    says=(
        "The version space is the open cone of all classifiers that are right on the data; its size is the share "
        "of directions it covers, and each example cuts it."
    ),
    formula=(
        r"V(S) = \{(w, b) : y_i (w \cdot x_i + b) > 0 \ \forall i\}, \qquad \text{mean share of a cell} = 1/C(n, "
        r"d)"
    ),
    sources=("eth",),
    assumes=("labels are −1 or +1", "points in general position, for the mean share 1/C(n, d)"),
    shows=("margins.version_share", "margins.VersionShare", "margins.version_arcs", "margins.VersionArcs"),
)
def version_space(
    key,
    points: Annotated[int, Range(2, 12)] = 8,
    dim: Annotated[int, Range(2, 3)] = 3,
    directions: Annotated[int, Range(1000, 50_000, log=True)] = 10_000,
):
    """Linear programmes enumerate the realisable labelings; their cells tile the sphere, so shares average 1/C."""
    x = np.asarray(jax.random.normal(key, (points, dim)))
    cells = dichotomies.enumerate_cells(x).signs
    number = dichotomies.cover_count(points, dim)
    yield exactly(len(cells), number, f"realisable labelings of {points} points against C({points}, {dim})")
    if dim == 2:
        shares = np.array([margins.version_arcs(x, y).share[-1] for y in cells])
        yield close(shares.mean(), 1 / number, "mean share of a cell, exact arcs", rtol=1e-9)
        yield at_least(shares, 0.0, "share of each realisable cell", strict=True)
    else:
        hits = [
            margins.version_share(x, y, samples=directions, key=jax.random.fold_in(key, i)).hits[-1]
            for i, y in enumerate(cells)
        ]
        yield frequency(int(np.sum(hits)), directions * number, 1 / number, "mean share of a cell, sampled directions")

    flat = np.asarray(jax.random.normal(jax.random.fold_in(key, 1), (points, 2)))
    labels = np.where(flat @ np.asarray(jax.random.normal(jax.random.fold_in(key, 2), (2,))) > 0, 1.0, -1.0)
    arcs = margins.version_arcs(flat, labels)
    shown = np.unique(np.geomspace(1, points, 5).astype(int)) - 1
    radii = 1 - 0.13 * np.arange(len(shown))
    names = [f"after {k + 1} point{'s' * bool(k)}: {arcs.share[k]:.3g}" for k in shown]
    yield figure.plane(
        f"The arc of classifiers that are still right shrinks from {arcs.share[0]:.2g} to {arcs.share[-1]:.2g} "
        f"of the circle with {points} points",
        x="w₁", y="w₂",
        lines={n: arc(arcs.low[k], arcs.high[k], r) for n, k, r in zip(names, shown, radii, strict=True)},
        arrows={"a classifier still right": ((0.0, 0.0), polar((arcs.low[-1] + arcs.high[-1]) / 2, radii[-1]))},
        domain=((-1.15, 1.15), (-1.15, 1.15)),
    )  # fmt: skip


@claim(
    "version-space-halfspaces",
    says=(
        "The version space is an intersection of one open half-space for each example: more data never enlarge "
        "it, and the data are separable iff it is not empty."
    ),
    formula=r"V(S) = \bigcap_i \{w : y_i\, w \cdot x_i > 0\}, \qquad S \subseteq S' \Rightarrow V(S') \subseteq V(S)",
    sources=("eth",),
    assumes=("labels are −1 or +1",),
)
def version_space_halfspaces(
    key,
    points: Annotated[int, Range(2, 60)] = 20,
    dim: Annotated[int, Range(3, 20)] = 5,
    trials: Annotated[int, Range(20, 200)] = 60,
):
    """Whether V is empty is decided by exact arcs in the plane and, independently, by the linear programme."""
    x, y, _ = (np.asarray(part) for part in data.separable_ball(points, dim, 0.02, key=key))
    # Members of V(S'): positive mixtures of separators that perceptrons find; V is a convex cone.
    found = np.stack(
        [
            perceptrons.fit(x, y, order="permuted", key=jax.random.fold_in(key, s), epochs=3000).weights
            for s in range(10)
        ]
    )
    mixed = data.generator(key).exponential(size=(500, 10)) @ found
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
    yield exactly(
        verdicts,
        arcs_left,
        f"linear programme's verdict against a non-empty arc, {sum(arcs_left)} of {trials} samples separable",
    )
    yield at_most(missed, 1 / 3600, "share of 3600 directions in all half-planes against the arc", atol=1e-12)

    count = np.arange(1, points + 1)
    yield figure.curves(
        f"{points} points leave {share.share[-1]:.2g} of all directions in {dim} dimensions; the share never grows",
        x="points", y="share of directions in V(S)", log="y",
        points={"of 20000 directions, with 95% interval": (count, share.share, share.low, share.high)},
    )  # fmt: skip


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
