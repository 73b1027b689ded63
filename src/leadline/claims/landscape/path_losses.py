"""The almost convex path for other losses than the squared one, and from a random start to a trained network."""

from typing import Annotated

import numpy as np

from leadline import data, landscape
from leadline.claims.landscape.digit_components import digit_components
from leadline.evidence import Choice, Range, at_least, at_most, claim, close, figure


def scalar_losses(y: np.ndarray) -> dict:
    """Three convex losses of one output per example: name -> loss of the outputs (N, 1), labels y = ±1."""
    return {
        "squared": lambda f: float(np.mean((f[:, 0] - y) ** 2)),
        "logistic": lambda f: float(np.mean(np.logaddexp(0.0, -y * f[:, 0]))),
        "Huber": lambda f: float(np.mean(_huber(f[:, 0] - y))),
    }


def _huber(r: np.ndarray) -> np.ndarray:
    return np.where(np.abs(r) <= 1, r**2 / 2, np.abs(r) - 0.5)


@claim(
    "path-for-convex-losses",
    says=(
        "The almost convex path works for every loss that is convex in the outputs and locally Lipschitz: convex in "
        "the middle, and the excess outside is at most Lip · ‖W₂‖₁ ε mean‖x‖. Squared (with its local constant), "
        "logistic and Huber losses."
    ),
    formula=r"\hat r(t) - \hat r(A) \le \mathrm{Lip} \cdot \|W_2\|_1 \, \varepsilon_A \, \frac1N \sum_i \|x_i\|",
    sources=("cam",),
    assumes=("the loss is convex and locally Lipschitz in the output",),
    shows=("landscape.almost_convex_path", "landscape.lipschitz_outer_bound"),
)
def path_for_convex_losses(
    key,
    half: Annotated[int, Range(2, 256, log=True)] = 32,
    dim: Annotated[int, Range(2, 8)] = 2,
    samples: Annotated[int, Range(20, 400)] = 200,
    ridge: Annotated[float, Range(1e-3, 10.0, log=True)] = 0.1,
):
    """Two networks with random rows and W₂ fitted by ridge regression to labels ±1 = sign(x₁x₂)."""
    rng = data.generator(key)
    x = rng.normal(size=(samples, dim))
    y = np.where(x[:, 0] * x[:, 1] > 0, 1.0, -1.0)
    nets = []
    for _ in range(2):
        rows = rng.normal(size=(2 * half, dim))
        hidden = np.maximum(x @ rows.T, 0.0)
        second = np.linalg.solve(hidden.T @ hidden + ridge * np.eye(2 * half), hidden.T @ y)
        nets.append(landscape.TwoLayer(rows, second[None]))
    path = landscape.almost_convex_path(*nets)
    bounds = path.output_bounds(x)
    sizes = np.linalg.norm(x, axis=1).mean()
    profiles = {}
    for name, criterion in scalar_losses(y).items():
        losses = profiles[name] = path.losses(criterion, x)
        scale = float(losses.max())
        yield at_least(np.diff(losses[3], 2), 0.0, f"{name}: second differences on segment 4", atol=1e-10 * scale)
        yield close(losses[1:3], losses[1, 0], f"{name}: loss on segments 2 and 3", atol=1e-9 * scale)
        yield close(losses[4:6], losses[4, 0], f"{name}: loss on segments 5 and 6", atol=1e-9 * scale)
        sides = ((losses[0], losses[0, 0], 0), (losses[-1], losses[-1, -1], 1))
        for side, end, which in sides:
            corner, cover = (path.corners[0], path.covering_a) if which == 0 else (path.corners[-1], path.covering_b)
            most = corner.mass * cover.radius * sizes  # Lip = 1
            if name == "squared":
                local = 2 * np.abs(corner(x)[:, 0] - y) + bounds[which]
                most = landscape.lipschitz_outer_bound(local, bounds[which])
            yield at_most(side - end, most, f"{name}: excess on the outer segment of {'AB'[which]}, bound")
    places = (np.arange(7)[:, None] + np.linspace(0, 1, 9)).ravel()
    rises = ", ".join(f"{name} {v.max() - max(v[0, 0], v[-1, -1]):.2g}" for name, v in profiles.items())
    yield figure.curves(
        f"Width {2 * half}, d = {dim}, barriers: {rises}", x="segment of the path", y="loss",
        points={name: (places, losses.ravel()) for name, losses in profiles.items()},
    )  # fmt: skip


def _first_change(net: landscape.TwoLayer, x: np.ndarray, targets: np.ndarray) -> float:
    """The largest change of the squared loss, up or down, while the rows move to their centres."""
    net = landscape.normalise_rows(net)
    moved = net.first[landscape.row_covering(net.first).nearest]
    steps = [landscape.TwoLayer((1 - s) * net.first + s * moved, net.second)(x[::5]) for s in (0.0, 0.5, 1.0)]
    losses = [landscape.squared_loss(f, targets[::5]) for f in steps]
    return max(abs(loss - losses[0]) for loss in losses)


@claim(
    "path-from-initialisation",
    says=(
        "From a wide random network to a trained one the almost convex path descends, but for a bump at the start that "
        "shrinks with the width and a rise of order ε_B before the end. On digits the ε_B of trained rows "
        "falls with the width too; in general it need not: rows in two directions keep ε_B = √2."
    ),
    formula=r"\hat r(t) \le \hat r(A) + O(\varepsilon_A), \quad \hat r(t) \le \hat r(B) + O(\varepsilon_B)",
    sources=("cam",),
    assumes=("few principal components: 2 or 3",),
    shows=("landscape.almost_convex_path", "landscape.fit_two_layer"),
    empirical=True,
)
def path_from_initialisation(
    key,
    dim: Annotated[int, Choice(2, 3)] = 2,
    largest: Annotated[int, Choice(128, 256, 512)] = 128,
    starts: Annotated[int, Range(4, 8)] = 4,
    steps: Annotated[int, Range(300, 800)] = 300,
):
    """Networks from n = 16 to `largest` on the digits; A is the random start of B itself for half of them, another for
    the others. Squared loss. The bump is the rise above A on the first segment."""
    rng = data.generator(key)
    x, labels = digit_components(dim)
    targets = np.eye(10)[labels]
    widths = np.array([16, 48, largest])
    bumps, tails, random_radii, trained_radii = np.zeros((4, len(widths), starts))
    profiles = {}
    changes = np.array([[_first_change(landscape.random_two_layer(rng, dim, int(n), 10), x, targets)
                         for _ in range(40)] for n in widths])  # fmt: skip
    for i, n in enumerate(widths):
        for j in range(starts):
            start = landscape.random_two_layer(rng, dim, int(n), 10)
            trained = landscape.fit_two_layer(start, x, labels, rng=rng, steps=steps)
            a = start if j % 2 == 0 else landscape.random_two_layer(rng, dim, int(n), 10)
            path = landscape.almost_convex_path(a, trained)
            losses = path.losses(lambda f: landscape.squared_loss(f, targets), x, points=5)
            first, last = losses[0, 0], losses[-1, -1]
            most = [landscape.squared_outer_bound(end, delta) - end
                    for end, delta in zip((first, last), path.output_bounds(x), strict=True)]  # fmt: skip
            bumps[i, j], tails[i, j] = losses[0].max() - first, losses[-1].max() - last
            random_radii[i, j], trained_radii[i, j] = path.covering_a.radius, path.covering_b.radius
            if j == 0:
                profiles[f"n = {n}"] = losses.ravel()
            yield at_most([bumps[i, j], tails[i, j]], most, f"n = {n}, start {j}: bump and last rise, their bounds")
            middle, larger = losses[3], max(losses[3, 0], losses[3, -1])
            yield at_most(middle, larger, f"n = {n}, start {j}: loss on segment 4, larger end", rtol=1e-12)
    what = f"random networks: mean change of the loss on segment 1, up or down, at n = {largest}, at n = 16"
    yield at_most(changes[-1].mean(), changes[0].mean(), what)
    yield at_most(tails[-1].mean(), tails[0].mean(), f"mean last rise at n = {largest}, at n = 16")
    random_power, power = (
        np.polyfit(np.log(np.repeat(widths, starts)), np.log(radii.ravel()), 1)[0]
        for radii in (random_radii, trained_radii)
    )
    yield at_most(
        trained_radii[-1].mean() / trained_radii[0].mean(), 0.8, f"digits: ε_B at n = {largest} over that at n = 16"
    )
    for n in widths:
        split = landscape.TwoLayer(np.repeat(np.eye(2), n // 2, axis=0), np.ones((1, n)))
        yield close(
            landscape.row_covering(split.first).radius, 2**0.5, f"rows in two directions only, n = {n}: ε_B", rtol=1e-12
        )
    places = (np.arange(7)[:, None] + np.linspace(0, 1, 5)).ravel()
    yield figure.beside(
        f"d = {dim}, n = 16 to {largest}: last rise {tails[0].mean():.2g} to {tails[-1].mean():.2g}, "
        f"first change {changes[0].mean():.2g} to {changes[-1].mean():.2g}",
        figure.curves("Loss from a random network to a trained one", x="segment of the path", y="squared loss", log="y",
                      points={name: (places, losses) for name, losses in profiles.items()}),
        figure.curves(
            f"Exponents of n: random rows {random_power:.2f}, trained rows {power:.2f}",
            x="width n", y="covering radius", log="xy",
            points={
                name: (widths, radii.mean(axis=1), radii.min(axis=1), radii.max(axis=1))
                for name, radii in (("ε_A, random", random_radii), ("ε_B, trained", trained_radii))
            },
        ),
    )  # fmt: skip
