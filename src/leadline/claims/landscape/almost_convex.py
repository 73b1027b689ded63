"""A path between any two wide two-layer ReLU networks: its segments, and the bound on how much it rises."""

from typing import Annotated

import numpy as np

from leadline import data, landscape
from leadline.claims.landscape.digit_components import digit_components, linear_barrier, trained_pair
from leadline.evidence import Choice, Range, at_least, at_most, claim, close, figure, method, printed, slope


def doubled(rng: np.random.Generator, half: int, dim: int) -> landscape.TwoLayer:
    """A network whose second half of rows repeats its first half: covering radius 0, whatever its loss."""
    net = landscape.random_two_layer(rng, dim, 2 * half, 1)
    return landscape.TwoLayer(np.tile(net.first[:half], (2, 1)), net.second)


@method(
    "almost-convex-path",
    says=(
        "Two ReLU networks W₂ max(W₁x, 0) of even width are joined by seven straight segments: rows gather at half of "
        "themselves, outgoing weights are merged, the freed rows become the other network's, W₂ is exchanged. The "
        "function is constant on segments 2, 3, 5, 6 and linear on 4: convex losses rise on 1 and 7 only."
    ),
    formula=r"\hat r(t) \text{ constant on } (2), (3), \quad \text{convex on } (4)",
    sources=("cam",),
    assumes=("the loss is convex in the outputs", "no biases, even width"),
    shows=(
        "landscape.almost_convex_path", "landscape.AlmostConvexPath", "landscape.TwoLayer", "landscape.two_layer",
        "landscape.normalise_rows", "landscape.fit_two_layer", "landscape.random_two_layer", "landscape.squared_loss",
        "landscape.softmax_loss", "landscape.squared_outer_bound", "landscape.lipschitz_outer_bound",
    ),
)  # fmt: skip
def almost_convex_path(
    key,
    half: Annotated[int, Range(4, 256, log=True)] = 64,
    dim: Annotated[int, Choice(2, 4, 8)] = 2,
    loss: Annotated[str, Choice("squared", "softmax")] = "squared",
    steps: Annotated[int, Range(1, 1000)] = 500,
):
    """Two networks of width 2 · `half`, trained from different starts on `dim` principal components of the digits."""
    rng = data.generator(key)
    x, labels = digit_components(dim)
    targets = np.eye(10)[labels]

    def criterion(outputs):
        return (
            landscape.softmax_loss(outputs, labels) if loss == "softmax" else landscape.squared_loss(outputs, targets)
        )

    a, b = trained_pair(rng, dim, 2 * half, loss=loss, steps=steps)
    path = landscape.almost_convex_path(a, b)
    losses = path.losses(criterion, x)
    size = float(losses.max())
    for net, corner, name in ((a, path.corners[0], "A"), (b, path.corners[-1], "B")):
        scale = np.abs(net(x)).max()
        yield close(corner(x), net(x), f"outputs of {name} after its rows are normalised", atol=1e-12 * scale)
    yield close(losses[1:3], losses[1, 0], "loss on segments 2 and 3", atol=1e-9 * size)
    yield close(losses[4:6], losses[4, 0], "loss on segments 5 and 6", atol=1e-9 * size)
    yield at_least(np.diff(losses[3], 2), 0.0, "second differences on segment 4", atol=1e-12 * size)
    ends = losses[0, 0], losses[-1, -1]
    for bound, outer, end, name in zip(path.output_bounds(x), (losses[0], losses[-1]), ends, "AB", strict=True):
        most = (
            landscape.squared_outer_bound(end, bound) - end
            if loss == "squared"
            else landscape.lipschitz_outer_bound(2**0.5, bound)
        )
        yield at_most(outer - end, most, f"excess on the outer segment of {name}, its bound")

    twice, y = doubled(rng, half, dim), rng.normal(size=(len(x), 1))
    flat = landscape.almost_convex_path(twice, twice)
    outer = flat.losses(lambda f: landscape.squared_loss(f, y), x, points=3)[0]
    yield close(outer, outer[0], "rows covered exactly (ε = 0): loss on the outer segment", rtol=1e-12)
    yield printed(
        at_most(outer, flat.output_bounds(x)[0].max(), "ε = 0: loss on the outer segment, constant times ε"),
        "cam", "the loss on the outer segments is at most a constant times ε (it is the excess)",
    )  # fmt: skip
    v = rng.normal(size=a.second.shape)
    trivial = [criterion(landscape.TwoLayer(a.first, (1 - s) * a.second + s * v)(x)) for s in np.linspace(0, 1, 9)]
    yield at_least(
        np.diff(trivial, 2), 0.0, "second differences while only W₂ moves, to random weights: convex for nothing",
        atol=1e-12 * max(trivial),
    )  # fmt: skip

    line = linear_barrier(criterion, a, b, x)
    places = np.arange(7)[:, None] + np.linspace(0, 1, losses.shape[1])
    yield figure.curves(
        f"Width {2 * half}, {dim} components: barrier {losses.max() - max(ends):.2g} on this path, "
        f"{line:.2g} on the line",
        x="segment of the path", y=f"{'cross-entropy' if loss == 'softmax' else 'squared'} loss",
        points={
            f"{k + 1} {name}": (places[k], losses[k]) for k, name in enumerate(landscape.SEGMENTS)
        },
    )  # fmt: skip


@claim(
    "path-barrier-bound",
    says=(
        "On the outer pieces of the path √r̂ exceeds √r̂(A) by at most ‖W₂‖₁ ε √mean‖x‖² (sum of column norms for many "
        "outputs). ‖W₂‖₁ grows as √n at random starts, so that the bound need not vanish though the excess does. On "
        "digits the path beats the straight line through 2 components and gains nothing through 8."
    ),
    formula=r"\sqrt{\hat r(t)} \le \sqrt{\hat r(A)} + \|W_2\|_1 \, \varepsilon_A \sqrt{\frac1N \sum_i \|x_i\|^2}",
    sources=("cam",),
    assumes=("unit rows", "squared loss"),
    shows=("landscape.AlmostConvexPath", "landscape.squared_outer_bound"),
)
def path_barrier_bound(
    key,
    largest: Annotated[int, Choice(128, 256, 512)] = 128,
    steps: Annotated[int, Range(300, 800)] = 400,
    draws: Annotated[int, Range(6, 12)] = 6,
):
    """Random networks with one output, d = 2, 3, n = 64 to 4096; pairs on digits, d = 2, 4, 8, n = 32 to `largest`."""
    rng = data.generator(key)
    widths = np.array([64, 512, 4096])
    excess, bound, mass, moves = np.zeros((4, 2, len(widths), draws))
    for i, dim in enumerate((2, 3)):
        x = rng.normal(size=(60, dim))
        y = rng.normal(size=(60, 1))
        for j, n in enumerate(widths):
            for k in range(draws):
                net = landscape.normalise_rows(landscape.random_two_layer(rng, dim, int(n), 1))
                cover = landscape.row_covering(net.first)
                moved = net.first[cover.nearest]
                risks = [landscape.squared_loss(landscape.TwoLayer((1 - s) * net.first + s * moved, net.second)(x), y)
                         for s in (0.0, 0.25, 0.5, 0.75, 1.0)]  # fmt: skip
                delta = np.linalg.norm(x, axis=1) * net.mass * cover.radius
                change = landscape.TwoLayer(moved, net.second)(x) - net(x)
                mass[i, j, k], moves[i, j, k] = net.mass, np.mean(change**2)
                excess[i, j, k] = max(risks) - risks[0]
                bound[i, j, k] = landscape.squared_outer_bound(risks[0], delta) - risks[0]
    yield at_most(excess, bound, "random networks: excess on the outer piece, bound")
    what = "mean squared change of the outputs at n = 4096, at n = 64, d = 2, 3"
    yield at_most(moves[:, -1].mean(axis=1), moves[:, 0].mean(axis=1), what)
    yield at_most(bound[0, -1].mean(), bound[0, 0].mean(), "d = 2: mean bound at n = 4096, at n = 64")
    yield at_least(
        bound[1, -1].mean(), bound[1, 0].mean(), "d = 3: mean bound at n = 4096, at n = 64: it does not vanish"
    )
    repeated = np.repeat(widths, draws)
    yield slope(repeated, mass[1].ravel(), 0.5, "exponent of n in ‖W₂‖₁, d = 3")
    yield printed(slope(repeated, mass[1].ravel(), 0.0, "exponent of n in the constant, d = 3"), "cam",
                  "the constant in front of ε is fixed")  # fmt: skip
    twice = doubled(rng, 16, 3)
    risk = landscape.squared_loss(twice(x), y)
    yield printed(
        at_most(risk, landscape.row_covering(landscape.normalise_rows(twice).first).radius * twice.mass,
                "rows covered exactly: loss on the outer piece, ‖W₂‖₁ ε"),
        "cam", "the loss itself, not its excess, is bounded by a constant times ε",
    )  # fmt: skip

    sizes = [32, 64 if largest == 128 else 128, largest]
    path_barriers, line_barriers = {}, {}
    for dim in (2, 4, 8):
        x, labels = digit_components(dim)
        targets = np.eye(10)[labels]
        for n in sizes:
            a, b = trained_pair(rng, dim, n, steps=steps)
            path = landscape.almost_convex_path(a, b)
            losses = path.losses(lambda f: landscape.squared_loss(f, targets), x, points=4)  # noqa: B023
            ends = losses[0, 0], losses[-1, -1]
            for side, end, delta in zip((losses[0], losses[-1]), ends, path.output_bounds(x), strict=True):
                most = np.sqrt(landscape.squared_outer_bound(end, delta))
                yield at_most(np.sqrt(side), most, f"digits, d = {dim}, n = {n}: √r̂ on an outer piece, bound")
            path_barriers[dim, n] = losses.max() - max(ends)
            line_barriers[dim, n] = linear_barrier(lambda f: landscape.squared_loss(f, targets), a, b, x)  # noqa: B023
    n = sizes[-1]
    yield at_most(
        path_barriers[2, n] / line_barriers[2, n],
        0.2,
        f"digits, d = 2, n = {n}: barrier of the path over that of the line",
    )
    yield at_least(
        path_barriers[8, n] / line_barriers[8, n], 0.4, f"digits, d = 8, n = {n}: the same ratio: no gain to speak of"
    )
    yield figure.beside(
        f"The path's barrier vanishes with the width through 2 components, not through 8 ({path_barriers[8, n]:.2g})",
        figure.curves(
            f"Random networks: bound for d = 3 goes from {bound[1, 0].mean():.0f} to {bound[1, -1].mean():.0f}",
            x="width n", y="excess of the squared loss", log="xy",
            lines={f"bound, d = {d}": (widths, bound[i].mean(axis=1)) for i, d in enumerate((2, 3))},
            points={f"excess, d = {d}": (widths, excess[i].mean(axis=1)) for i, d in enumerate((2, 3))},
        ),
        figure.curves(
            f"Digits: path {path_barriers[2, n]:.2g}, line {line_barriers[2, n]:.2g} at d = 2, n = {n}",
            x="width n", y="barrier of the squared loss", log="xy",
            points={
                f"{name}, d = {d}": (sizes, [max(found[d, m], 1e-6) for m in sizes])
                for d in (2, 4, 8) for name, found in (("path", path_barriers), ("line", line_barriers))
            },
        ),
    )  # fmt: skip
