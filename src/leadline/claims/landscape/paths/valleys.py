"""Valleys of minima: how far training goes to one, what moves along its floor, and how two visits differ."""

import jax
import numpy as np

from leadline import data, landscape, tangent
from leadline.evidence import Int, OneOf, Real, at_least, at_most, claim, close, exactly, frequency, mean, slope
from leadline.kernels import features
from leadline.landscape.label_noise import label_noise_path
from leadline.landscape.two_layer_fits import WeightComparison
from leadline.presentation import figure

NARROW = np.array([1, 2, 4, 8, 16])


@claim(sources=("penn",), empirical=True)
def distance_travelled(
    key, largest: Int(1024, 4096, log=True) = 1024, seeds: Int(3, 8) = 5, count: Int(16, 32) = 20, dims: Int(6, 12) = 8
):
    r"""Wide networks stay near initialisation.

    Wide networks find a minimum near any start: in the NTK scaling the relative distance $\|w_{\mathrm{end}} -
    w_0\|/\|w_0\|$ falls as the width to the power −½, since the distance itself stays of order 1. Narrow ones go
    farther than their own size, and some never arrive.

    $$\|w_{\mathrm{end}} - w_0\| / \|w_0\| \sim m^{-1/2}$$

    Assumes: two-layer ReLU networks in the NTK parametrisation; training to 5% of the initial loss.

    Check: The data are `count` digits 3 and 8 reduced to `dims` principal components. The widths run from 32 to
    `largest`, and from 1 to 16 with 40 seeds each.
    """
    rng = data.generator(key)
    x, y = _digits_pair(rng, count, dims)
    widths = np.unique(np.geomspace(32, largest, 5).round().astype(int))
    wide = [_relative_distances(rng, x, y, [m], seeds, 1500, 2) for m in widths]
    relative, arrived = (np.concatenate(part) for part in zip(*wide, strict=True))
    yield exactly(arrived.mean(), 1.0, f"share of runs that reach the goal, widths {widths[0]} to {widths[-1]}")
    many = np.repeat(widths, seeds)
    yield slope(many, relative.ravel(), -0.5, "exponent of the width in the relative distance", within=0.1)
    narrow, reached = _relative_distances(rng, x, y, NARROW, 40, 1200, 4)
    failed = 1 - reached.mean(axis=1)
    yield frequency(40 * failed[0], 40, 0.2, "share of networks of width 1 that never arrives", side="at least")
    yield at_most(failed[-1], failed[0], f"share of runs that fail at width {NARROW[-1]}, against width 1")
    median = np.median(narrow, axis=1)
    yield at_least(median[0] / np.median(relative[-1]), 5.0, f"relative distance at width 1 over that at {widths[-1]}")
    middle = np.median(relative, axis=1)
    lines = {"slope −1/2": (widths, middle[0] * (widths / widths[0]) ** -0.5)}
    points = {f"{seeds} seeds": (many, relative.ravel()), "median of 40": (NARROW, median)}
    title = "Distance from the start to the minimum"
    far = figure.curves(title, "width", "‖w_end − w₀‖/‖w₀‖", lines=lines, points=points, log="xy")
    title, points = "Share of 40 seeds that never reaches 5% of the loss", {"failed": (NARROW, failed)}
    lost = figure.curves(title, "width", "share", points=points, log="x")
    fitted = np.polyfit(np.log(many), np.log(relative.ravel()), 1)[0]
    title = f"Relative distance ~ width^({fitted:.2f}); {failed[0]:.0%} of the networks of width 1 fail"
    yield figure.beside(title, far, lost)


def _digits_pair(rng: np.random.Generator, count: int, dims: int) -> tuple[np.ndarray, np.ndarray]:
    """`count` images of 3 and 8 by their first principal components, of mean length 1, with a constant; labels ±1."""
    images, labels = data.digits()
    kept = np.flatnonzero(np.isin(labels, (3, 8)))
    centred = images[kept] - images[kept].mean(axis=0)
    projected = centred @ np.linalg.svd(centred, full_matrices=False)[2][:dims].T
    chosen = rng.choice(len(kept), count, replace=False)
    x = projected[chosen] / np.sqrt(np.mean(np.sum(projected[chosen] ** 2, axis=1)))
    return np.hstack([x, np.full((count, 1), 0.5)]), np.where(labels[kept[chosen]] == 3, 1.0, -1.0)


def _relative_distances(rng, x, y, widths, seeds: int, max_steps: int, care: float) -> tuple[np.ndarray, np.ndarray]:
    """‖w_end − w₀‖/‖w₀‖ and whether the loss fell to 5% of the first, (widths, seeds), for ReLU networks in the NTK
    form; descent on the mean square with η = n/(care λ_max(K₀)), stable while the kernel K stays below `care` K₀."""
    options = {"gain": 2**0.5, "parametrisation": "ntk"}
    keys = jax.random.split(jax.random.key(int(rng.integers(2**31))), seeds * len(widths))
    drawn = zip(np.repeat(widths, seeds).tolist(), keys, strict=True)
    nets = [tangent.lecun_two_layer(x.shape[1], m, "relu", key=one, **options) for m, one in drawn]
    tops = np.linalg.eigvalsh(tangent.family_kernels(nets, x))[:, -1]
    runs = tangent.train_family(nets, x, y, len(y) / (care * np.maximum(tops, 1e-9)), until=0.05, max_steps=max_steps)
    moved = [run.network.distance(net) / net.size for run, net in zip(runs, nets, strict=True)]
    shape = len(widths), seeds
    return np.reshape(moved, shape), np.reshape([run.reached for run in runs], shape)


@claim(sources=("penn",))
def valley_floor(
    key,
    start: Real(1.5, 3.0) = 3.0,
    step_size: Real(0.05, 0.1) = 0.1,
    noise: Real(0.4, 0.6) = 0.5,
    width: Int(1, 3) = 2,
):
    r"""Label noise drifts SGD to flat minima.

    On a valley of minima the gradient is 0 and gradient descent rests where it is. Fresh noise in the labels makes SGD
    drift along the floor to where it is flattest: on ab = 1 each step multiplies a² − b² by 1 − η²r², where r is the
    noisy residual, until |a| = |b|.

    $$a_{t+1}^2 - b_{t+1}^2 = (1 - \eta^2 r_t^2)(a_t^2 - b_t^2)$$

    Assumes: loss ½(ab − 1)², label noise N(0, s²); η(a² + b²) < 2.

    Check: On ab = 1, from (`start`, 1/`start`), 16 runs are made until $e^{-6}$ of the imbalance should be left. The
    matrix case is AB = G with `width` hidden units and G = diag(1, 2) cut to that rank.
    """
    rng = data.generator(jax.random.fold_in(key, 0))
    one, steps = np.ones((1, 1)), int(np.ceil(6 / (step_size * noise) ** 2))

    def walk(number, *factors, **options):
        return label_noise_path(*factors, key=jax.random.fold_in(key, number), **options)

    scalars = start * one, one / start, one
    rest = walk(1, *scalars, step_size=step_size, noise=0.0, num_steps=500)
    stayed = np.hypot(rest.left[-1] - start, rest.right[-1] - 1 / start).max()
    yield at_most(stayed, 1e-8, "ab = 1: displacement of gradient descent in 500 steps")
    path = walk(2, *scalars, step_size=step_size, noise=noise, num_steps=steps, runs=16)
    a, b, r = path.left[..., 0, 0], path.right[..., 0, 0], path.residuals[..., 0, 0]
    uneven = np.abs(a**2 - b**2)
    predicted = np.log(uneven[0]) + np.cumsum(np.log(np.abs(1 - (step_size * r) ** 2)), axis=0)
    what = "ln|a² − b²|, against the sum of ln(1 − η²r²)"
    yield close(np.log(uneven[1::50]), predicted[::50], what, atol=1e-6)
    gap = np.abs(np.abs(a) - np.abs(b))
    what = f"median of ||a| − |b|| after {steps} noisy steps, against 5% of the first"
    yield at_most(np.median(gap[-1]), 0.05 * gap[0, 0], what)

    # Two layers: the null space at the start is {(AX, −XB)}, along which AB does not change at first order.
    rank = min(width, 2)
    u, s, vt = (part[..., :rank] for part in (np.eye(2), np.array([2.0, 1.0]), np.eye(2)))
    G = (u * s) @ vt.T
    mix = np.linalg.qr(rng.normal(size=(width, width)))[0]
    A = np.hstack([2.0 * u * np.sqrt(s), np.zeros((2, width - rank))]) @ mix
    B = mix.T @ np.hstack([0.5 * vt * np.sqrt(s), np.zeros((2, width - rank))]).T
    small = step_size / 3
    long = int(np.ceil(1.5 / (small * noise) ** 2))
    units = np.eye(width**2).reshape(-1, width, width)
    tangents = np.array([np.concatenate([(A @ X).ravel(), -(X @ B).ravel()]) for X in units])
    _, sizes, basis = np.linalg.svd(tangents, full_matrices=False)
    basis = basis[sizes > 1e-10]

    def displacement(found):
        moved = [(now - then).reshape(*now.shape[:2], -1) for now, then in ((found.left, A), (found.right, B))]
        return np.linalg.norm(np.concatenate(moved, axis=-1) @ basis.T, axis=-1)  # (points, runs)

    still = walk(3, A, B, G, step_size=small, noise=0.0, num_steps=300)
    yield at_most(displacement(still)[-1], 1e-8, f"AB = G, {width} units: null-space displacement of gradient descent")
    drift = walk(4, A, B, G, step_size=small, noise=noise, num_steps=long, runs=8)
    moved, imbalance = displacement(drift).mean(axis=1), drift.imbalance.mean(axis=1)
    what = f"label noise: null-space displacement after {long} steps, against twice that after 200"
    yield at_least(moved[-1], 2 * moved[200], what)
    yield at_most(imbalance[-1], 0.5 * imbalance[0], f"‖AᵀA − BBᵀ‖ after {long} noisy steps, against half of the first")

    # The drift is d ln|a² − b²|/dt = −η² E r² with E r² = 2s²/(2 − ηh), h = a² + b² and ab = 1.
    times, square = np.linspace(0, steps, 400), [start**2 - start**-2]
    for dt in np.diff(times):
        h = np.sqrt(square[-1] ** 2 + 4)
        square.append(square[-1] * np.exp(-dt * 2 * (step_size * noise) ** 2 / (2 - min(step_size * h, 1.9))))
    shown, curve = np.linspace(0, steps, 60).astype(int), np.linspace(0.8 / start, 1.15 * start, 200)
    points = {"label-noise SGD": np.stack([a[shown, 0], b[shown, 0]], 1), "gradient descent": [[start, 1 / start]]}
    lines, sizes, domain = {"ab = 1": (curve, 1 / curve)}, {"label-noise SGD": 14.0}, ((0.0, 1.2 * start),) * 2
    title = "Drift along the hyperbola, one run"
    hyperbola = figure.plane(title, "a", "b", points=points, sizes=sizes, lines=lines, domain=domain)
    lines, early = {"drift equation": (times, square)}, shown[shown <= 500]
    points = {"label-noise SGD": (shown, np.median(uneven, axis=1)[shown])}
    points["gradient descent"] = (early, np.full(len(early), square[0]))
    title = "Imbalance, median of 16 runs"
    fading = figure.curves(title, "step", "|a² − b²|", lines=lines, points=points, log="y")
    title = f"Gradient descent rests on ab = 1; label noise takes it from ({start:g}, {1 / start:.2g}) to balance"
    yield figure.beside(title, hyperbola, fading)


@claim(sources=("penn",), empirical=True)
def retrained_nets_differ(
    key, width: OneOf(32, 64, 128) = 32, seeds: Int(3, 5) = 3, num_steps: Int(400, 1500, log=True) = 600
):
    r"""Retrained networks: same function, different weights.

    Training again from another seed gives the same error and nearly the same function with unrelated weights: their
    cosine is near 0, and about a half after the units are matched, while the predictions agree on 98% of the digits.
    Two linear networks differ by exactly one invertible matrix between the layers.

    $$A_2 = A_1 C, \quad B_2 = C^{-1} B_1$$

    Assumes: two-layer ReLU networks on the 8×8 digits, Adam.

    Check: The networks are 64-`width`-10; the linear pair has a target G (4 × 5) of rank 2 and 2 units.
    """
    rng = data.generator(key)
    train_x, train_y, test_x, test_y = data.digits_split()
    starts = [landscape.random_two_layer(rng, 64, width, 10) for _ in range(seeds)]
    options = {"rng": rng, "loss": "softmax", "num_steps": num_steps}
    nets = [landscape.fit_two_layer(start, train_x, train_y, **options) for start in starts]
    answers = np.stack([net(test_x).argmax(axis=1) for net in nets])
    errors = (answers != test_y).mean(axis=1)
    yield frequency(errors * len(test_y), len(test_y), errors.mean(), "test errors, against their mean")
    pairs = [(i, j) for i in range(seeds) for j in range(i)]
    hidden = [np.maximum(test_x @ net.weight.T, 0) for net in nets]
    trained = [WeightComparison(nets[i], nets[j]) for i, j in pairs]
    cosine, matched = (np.array([getattr(c, name) for c in trained]) for name in ("cosine", "matched"))
    untrained = np.array([WeightComparison(starts[i], starts[j]).matched for i, j in pairs])
    agreement = np.array([np.mean(answers[i] == answers[j]) for i, j in pairs])
    aligned = [features.alignment(hidden[i] @ hidden[i].T, hidden[j], centred=True) for i, j in pairs]
    # The order of units means nothing: the cosine should be one of those that random orders give.
    scores = [c.score for c in trained]
    yield mean(scores, 0.0, "cosine, in standard deviations of random orders of units", deviation=1.0)
    yield at_most(np.abs(cosine), matched / 2, "|cosine| of the weights, against half the cosine when matched")
    yield at_least(matched, 0.3, "cosine of the weights after matching the units")
    yield at_least(matched - untrained, 0.0, "cosine after matching, less that of the untrained networks matched")
    yield at_least(agreement, 0.95, "share of test images on which two networks agree")
    yield at_least(aligned, 0.9, "centred kernel alignment of the hidden layers")
    left, right = (np.linalg.qr(rng.normal(size=(size, 2)))[0] for size in (4, 5))
    G, ends = left * [1.0, 0.7] @ right.T, []
    for seed in (1, 2):
        a, b = 0.5 * rng.normal(size=(4, 2)), 0.5 * rng.normal(size=(2, 5))
        options = {"noise": 0.0, "num_steps": 1500, "key": jax.random.fold_in(key, seed)}
        path = label_noise_path(a, b, G, step_size=0.2, **options)
        ends.append((path.left[-1, 0], path.right[-1, 0]))
    (a1, b1), (a2, b2) = ends
    learnt = max(np.linalg.norm(a @ b - G) for a, b in ends) < 1e-7, "both linear networks have converged"
    C = np.linalg.lstsq(a1, a2, rcond=None)[0]
    residual = np.linalg.norm(a1 @ C - a2) + np.linalg.norm(np.linalg.solve(C, b1) - b2)
    yield at_most(residual, 1e-5, "linear pair: ‖A₁C − A₂‖ + ‖C⁻¹B₁ − B₂‖").given(*learnt)
    yield at_least(np.linalg.norm(a1 - a2), 0.1, "linear pair: ‖A₁ − A₂‖ as they are", strict=True).given(*learnt)
    columns = {"test error (mean)": [errors[[i, j]].mean() for i, j in pairs], "cosine": cosine}
    columns |= {"cosine, units matched": matched, "untrained, matched": untrained}
    columns |= {"agreement": agreement, "hidden CKA": aligned}
    labels = [f"seeds {j + 1}, {i + 1}" for i, j in pairs]
    values = {name: dict(zip(labels, column, strict=True)) for name, column in columns.items()}
    title = f"Errors {errors.min():.1%} to {errors.max():.1%}: weights with cosine {cosine.mean():.2f}, "
    title += f"matched {matched.mean():.2f}; answers agree on {agreement.mean():.1%}"
    yield figure.bars(title, "pair of networks", "value", values=values)
