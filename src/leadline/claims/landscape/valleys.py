"""Valleys of minima: how far training goes to one, what moves along its floor, and how two visits differ."""

from typing import Annotated

import jax
import numpy as np

from leadline import data, features, landscape
from leadline.claims.landscape.weight_comparison import WeightComparison
from leadline.claims.landscape.width_runs import digits_pair, relative_distances
from leadline.evidence import Choice, Range, at_least, at_most, claim, close, exactly, figure, frequency, mean, slope

NARROW = np.array([1, 2, 4, 8, 16])


@claim(
    "distance-travelled",
    says=(
        "Wide networks find a minimum near any start: in the NTK scaling the relative distance ‖w_end − w₀‖/‖w₀‖ falls "
        "like width^(−1/2), as the distance itself stays of order 1. Narrow ones go farther than their own size, and "
        "some never arrive."
    ),
    formula=r"\|w_{end} - w_0\| / \|w_0\| \sim m^{-1/2}",
    sources=("penn",),
    assumes=("two-layer ReLU networks in the NTK parametrisation", "training to 5% of the initial loss"),
    empirical=True,
)
def distance_travelled(
    key,
    largest: Annotated[int, Range(1024, 4096, log=True)] = 1024,
    seeds: Annotated[int, Range(3, 8)] = 5,
    count: Annotated[int, Range(16, 32)] = 20,
    dims: Annotated[int, Range(6, 12)] = 8,
):
    """`count` digits 3 and 8 by `dims` principal components; widths 32 to `largest`, and 1 to 16 with 40 seeds each."""
    rng = data.generator(key)
    x, y = digits_pair(rng, count, dims)
    widths = np.unique(np.geomspace(32, largest, 5).round().astype(int))
    wide = [relative_distances(rng, x, y, int(m), seeds, 0.05, 1500) for m in widths]
    relative, arrived = (np.array(part) for part in zip(*wide, strict=True))
    yield close(arrived.mean(), 1.0, f"share that arrives, widths {widths[0]} to {widths[-1]}")
    many = np.repeat(widths, seeds)
    yield slope(many, relative.ravel(), -0.5, "exponent of the width in the relative distance", within=0.1)
    narrow = [relative_distances(rng, x, y, int(m), 40, 0.05, 600) for m in NARROW]
    failed = np.array([1 - np.mean(reached) for _, reached in narrow])
    yield frequency(40 * failed[0], 40, 0.2, "share of networks of width 1 that never arrives", side="at least")
    yield at_most(failed[-1], failed[0], f"share that fails at width {NARROW[-1]}, against that at width 1")
    median = np.array([np.median(r) for r, _ in narrow])
    yield at_least(median[0] / np.median(relative[-1]), 5.0, f"relative distance at width 1 over that at {widths[-1]}")
    middle = np.median(relative, axis=1)
    fitted = float(np.polyfit(np.log(many), np.log(relative.ravel()), 1)[0])
    yield figure.beside(
        f"Relative distance ~ width^({fitted:.2f}): {middle[0]:.2f} at width {widths[0]}, {middle[-1]:.3f} at "
        f"{widths[-1]}; {failed[0]:.0%} of the networks of width 1 fail",
        figure.curves(
            "Distance from the start to the minimum",
            x="width",
            y="‖w_end − w₀‖/‖w₀‖",
            lines={"slope −1/2": (widths, middle[0] * (widths / widths[0]) ** -0.5)},
            points={
                f"{seeds} seeds": (many, relative.ravel()),
                "median of 40": (NARROW, median),
            },
            log="xy",
        ),
        figure.curves(
            "Share of 40 seeds that never reaches 5% of the loss",
            x="width",
            y="share",
            points={"failed": (NARROW, failed)},
            log="x",
        ),
    )


@claim(
    "valley-floor",
    says=(
        "On a valley of minima the gradient is 0 and gradient descent rests where it is. Fresh noise in the labels "
        "makes SGD drift along the floor to where it is flattest: on ab = 1 each step multiplies a² − b² by 1 − η²r², "
        "r the noisy residual, until |a| = |b|."
    ),
    formula=r"a_{t+1}^2 - b_{t+1}^2 = (1 - \eta^2 r_t^2)(a_t^2 - b_t^2)",
    sources=("penn",),
    assumes=("loss ½(ab − 1)², label noise N(0, s²)", "η(a² + b²) < 2"),
    shows=("landscape.label_noise_path",),
)
def valley_floor(
    key,
    start: Annotated[float, Range(1.5, 3.0)] = 3.0,
    step: Annotated[float, Range(0.05, 0.1)] = 0.1,
    noise: Annotated[float, Range(0.4, 0.6)] = 0.5,
    width: Annotated[int, Range(1, 3)] = 2,
):
    """ab = 1 from (`start`, 1/`start`), 16 runs, until e^{−6} of the imbalance should be left; and AB = G with A and B
    of `width` hidden units and G = diag(1, 2) cut to that rank."""
    rng = data.generator(jax.random.fold_in(key, 0))
    one = np.ones((1, 1))
    steps = int(np.ceil(6 / (step * noise) ** 2))
    rest = landscape.label_noise_path(
        start * one, one / start, one, step=step, noise=0.0, steps=500, key=jax.random.fold_in(key, 1)
    )
    stayed = np.hypot(rest.left[-1] - start, rest.right[-1] - 1 / start).max()
    yield at_most(stayed, 1e-8, "displacement of gradient descent in 500 steps")
    path = landscape.label_noise_path(
        start * one, one / start, one, step=step, noise=noise, steps=steps, runs=16, key=jax.random.fold_in(key, 2)
    )
    a, b, r = path.left[..., 0, 0], path.right[..., 0, 0], path.residuals[..., 0, 0]
    predicted = np.log(np.abs(a[0] ** 2 - b[0] ** 2)) + np.cumsum(np.log(np.abs(1 - (step * r) ** 2)), axis=0)
    yield close(
        np.log(np.abs(a[1:] ** 2 - b[1:] ** 2))[::50],
        predicted[::50],
        "ln|a² − b²| against the sum of ln(1 − η²r²)",
        atol=1e-6,
    )
    gap = np.abs(np.abs(a) - np.abs(b))
    yield at_most(np.median(gap[-1]), 0.05 * gap[0, 0], f"median of ||a| − |b|| after {steps} noisy steps")

    # Two layers: the null space at the start is {(AX, −XB)}, along which AB does not change at first order.
    G = np.diag([2.0, 1.0])[:, :2]
    u, s, vt = np.linalg.svd(G)
    rank = min(width, 2)
    G = (u[:, :rank] * s[:rank]) @ vt[:rank]
    mix = np.linalg.qr(rng.normal(size=(width, width)))[0]
    A = np.hstack([2.0 * (u[:, :rank] * np.sqrt(s[:rank])), np.zeros((2, width - rank))]) @ mix
    B = mix.T @ np.vstack([0.5 * (np.sqrt(s[:rank])[:, None] * vt[:rank]), np.zeros((width - rank, 2))])
    small = step / 3
    long = int(np.ceil(1.5 / (small * noise) ** 2))
    tangents = []
    for X in np.eye(width**2).reshape(-1, width, width):
        tangents.append(np.concatenate([(A @ X).ravel(), -(X @ B).ravel()]))
    basis = np.linalg.svd(np.array(tangents), full_matrices=False)
    basis = basis[2][basis[1] > 1e-10]

    def displacement(found):
        moved = np.concatenate([(found.left - A).reshape(*found.left.shape[:2], -1),
                                (found.right - B).reshape(*found.right.shape[:2], -1)], axis=-1)  # fmt: skip
        return np.linalg.norm(moved @ basis.T, axis=-1)  # (points, runs)

    still = landscape.label_noise_path(A, B, G, step=small, noise=0.0, steps=300, key=jax.random.fold_in(key, 3))
    yield at_most(displacement(still)[-1], 1e-8, f"AB = G, {width} units: null-space displacement of gradient descent")
    drift = landscape.label_noise_path(
        A, B, G, step=small, noise=noise, steps=long, runs=8, key=jax.random.fold_in(key, 4)
    )
    moved = displacement(drift).mean(axis=1)
    yield at_least(moved[-1], 2 * moved[200], f"label noise: displacement after {long} steps against after 200")
    yield at_most(
        drift.imbalance[-1].mean(),
        0.5 * drift.imbalance[0].mean(),
        f"‖AᵀA − BBᵀ‖ after {long} noisy steps, half at most",
    )

    # Drift law: d ln|a² − b²|/dt = −η² E r², E r² = 2s²/(2 − ηh), h = a² + b² and ab = 1.
    times = np.linspace(0, steps, 400)
    square = [start**2 - start**-2]
    for dt in np.diff(times):
        h = np.sqrt(square[-1] ** 2 + 4)
        square.append(square[-1] * np.exp(-dt * 2 * (step * noise) ** 2 / (2 - min(step * h, 1.9))))
    shown = np.unique(np.linspace(0, steps, 60).astype(int))
    curve = np.linspace(0.8 / start, 1.15 * start, 200)
    yield figure.beside(
        f"Gradient descent rests on ab = 1; label noise takes ({start:g}, {1 / start:.2g}) to "
        f"({np.median(np.abs(a[-1])):.2f}, {np.median(np.abs(b[-1])):.2f}) in {steps} steps",
        figure.plane(
            "Drift along the hyperbola, one run",
            x="a",
            y="b",
            points={
                "label-noise SGD": np.stack([a[shown, 0], b[shown, 0]], 1),
                "gradient descent": [[start, 1 / start]],
            },
            sizes={"label-noise SGD": 14.0},
            lines={"ab = 1": (curve, 1 / curve)},
            domain=((0.0, 1.2 * start), (0.0, 1.2 * start)),
        ),
        figure.curves(
            "Imbalance, median of 16 runs",
            x="step",
            y="|a² − b²|",
            lines={"drift law": (times, np.array(square))},
            points={
                "label-noise SGD": (shown, np.median(np.abs(a**2 - b**2), axis=1)[shown]),
                "gradient descent": (shown[shown <= 500], np.full(np.sum(shown <= 500), start**2 - start**-2)),
            },
            log="y",
        ),
    )


@claim(
    "retrained-nets-differ",
    says=(
        "Training again from another seed gives the same error and nearly the same function with unrelated weights: "
        "cosine near 0, about a half after the units are matched, while predictions agree on 98% of the digits. Two "
        "linear networks differ by exactly one invertible matrix between the layers."
    ),
    formula=r"A_2 = A_1 C, \quad B_2 = C^{-1} B_1",
    sources=("penn",),
    assumes=("two-layer ReLU networks on the 8×8 digits, Adam",),
    empirical=True,
)
def retrained_nets_differ(
    key,
    width: Annotated[int, Choice(32, 64, 128)] = 32,
    seeds: Annotated[int, Range(3, 5)] = 3,
    steps: Annotated[int, Range(400, 1500, log=True)] = 600,
):
    """`seeds` networks 64 – `width` – 10, batches of 64; the linear pair has target G (4 × 5) of rank 2 and 2 units."""
    rng = data.generator(key)
    train_x, train_y, test_x, test_y = data.digits_split()
    starts = [landscape.random_two_layer(rng, 64, width, 10) for _ in range(seeds)]
    nets = [landscape.fit_two_layer(start, train_x, train_y, rng=rng, loss="softmax", steps=steps) for start in starts]
    answers = np.stack([net(test_x).argmax(axis=1) for net in nets])
    wrong = (answers != test_y).sum(axis=1)
    yield frequency(wrong, len(test_y), wrong.mean() / len(test_y), "test errors, against their mean")
    pairs = [(i, j) for i in range(seeds) for j in range(i)]
    table = {"cosine": [], "cosine, units matched": [], "untrained, matched": [], "agreement": [], "hidden CKA": []}
    scores = []
    for i, j in pairs:
        trained = WeightComparison(nets[i], nets[j])
        hidden = [np.maximum(test_x @ nets[k].first.T, 0) for k in (i, j)]
        table["cosine"].append(trained.cosine)
        table["cosine, units matched"].append(trained.matched)
        table["untrained, matched"].append(WeightComparison(starts[i], starts[j]).matched)
        table["agreement"].append(float(np.mean(answers[i] == answers[j])))
        table["hidden CKA"].append(features.alignment(hidden[0] @ hidden[0].T, hidden[1], centred=True))
        scores.append(trained.score)
    found = {name: np.array(values) for name, values in table.items()}
    # The order of units means nothing: the cosine should be one of those that random orders give.
    yield mean(scores, 0.0, "cosine, in standard deviations of random orders of units", deviation=1.0)
    yield at_most(
        np.abs(found["cosine"]), found["cosine, units matched"] / 2, "|cosine| against half that when matched"
    )
    yield at_least(found["cosine, units matched"], 0.3, "cosine after matching the units")
    yield at_least(
        found["cosine, units matched"] - found["untrained, matched"], 0.0, "that, less what matching gains untrained"
    )
    yield at_least(found["agreement"], 0.95, "share of test images on which two networks agree")
    yield at_least(found["hidden CKA"], 0.9, "centred kernel alignment of the hidden layers")

    left, right = (np.linalg.qr(rng.normal(size=(size, 2)))[0] for size in (4, 5))
    G = left * [1.0, 0.7] @ right.T
    ends = []
    for seed in (1, 2):
        a, b = 0.5 * rng.normal(size=(4, 2)), 0.5 * rng.normal(size=(2, 5))
        path = landscape.label_noise_path(a, b, G, step=0.2, noise=0.0, steps=1500, key=jax.random.fold_in(key, seed))
        ends.append((path.left[-1, 0], path.right[-1, 0]))
    (a1, b1), (a2, b2) = ends
    trained = max(np.linalg.norm(a @ b - G) for a, b in ends)
    C = np.linalg.lstsq(a1, a2, rcond=None)[0]
    residual = np.linalg.norm(a1 @ C - a2) + np.linalg.norm(np.linalg.solve(C, b1) - b2)
    learnt = "both linear networks have converged"
    yield at_most(residual, 1e-5, "linear pair: ‖A₁C − A₂‖ + ‖C⁻¹B₁ − B₂‖").given(trained < 1e-7, learnt)
    yield exactly(bool(np.linalg.norm(a1 - a2) > 0.1), True, "linear pair: the factors themselves differ").given(
        trained < 1e-7, learnt
    )
    labels = [f"seeds {j + 1}, {i + 1}" for i, j in pairs]
    errors = {
        "test error (mean)": dict(zip(labels, [wrong[[i, j]].mean() / len(test_y) for i, j in pairs], strict=True))
    }
    shown = errors | {name: dict(zip(labels, values, strict=True)) for name, values in found.items()}
    yield figure.bars(
        f"Errors {wrong.min() / len(test_y):.1%} to {wrong.max() / len(test_y):.1%}: weights with cosine "
        f"{found['cosine'].mean():.2f}, matched {found['cosine, units matched'].mean():.2f}; answers agree on "
        f"{found['agreement'].mean():.1%}",
        x="pair of networks",
        y="value",
        values=shown,
    )
