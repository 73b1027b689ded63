"""A path between any two wide two-layer ReLU networks: its segments, and the bound on how much it rises."""

from functools import partial

import numpy as np

from leadline import data, landscape
from leadline.claims.scenarios.landscape.digit_components import digit_components, linear_barrier, trained_pair
from leadline.evidence import Int, OneOf, at_least, at_most, claim, close, erratum, method, slope
from leadline.landscape.paths.almost_convex_paths import SEGMENTS, normalise_rows
from leadline.landscape.two_layer_fits import softmax_loss, squared_loss
from leadline.networks import TwoLayer
from leadline.presentation import figure


def doubled(rng: np.random.Generator, half: int, dim: int) -> TwoLayer:
    """A network whose second half of rows repeats its first half: covering radius 0, whatever its loss."""
    net = landscape.random_two_layer(rng, dim, 2 * half, 1)
    return TwoLayer(np.tile(net.weight[:half], (2, 1)), net.head)


@method(sources=("cam",), shows=("landscape.fit_two_layer", "landscape.random_two_layer"))
def almost_convex_path(
    key,
    half: Int(4, 256, log=True) = 64,
    dim: OneOf(2, 4, 8) = 2,
    loss: OneOf("squared", "softmax") = "squared",
    num_steps: Int(1, 1000) = 500,
):
    r"""Almost convex path between ReLU networks.

    Two ReLU networks W₂ max(W₁x, 0) of even width are joined by seven straight segments: the rows gather at half of
    themselves, the outgoing weights are merged, the freed rows become the other network's, and W₂ is exchanged. The
    function is constant on segments 2, 3, 5 and 6 and linear on 4: convex losses rise on 1 and 7 only.

    $$\hat r(t) \text{ constant on } (2), (3), \quad \text{convex on } (4)$$

    Assumes: the loss is convex in the outputs; no biases, even width.

    Check: The path joins two networks of width 2 · `half`, trained from different starts on `dim` principal components
    of the digits.
    """
    rng = data.generator(key)
    x, labels = digit_components(dim)
    targets = np.eye(10)[labels]

    def criterion(outputs):
        softmax = loss == "softmax"
        return softmax_loss(outputs, labels) if softmax else squared_loss(outputs, targets)

    a, b = trained_pair(rng, dim, 2 * half, loss=loss, num_steps=num_steps)
    path = landscape.almost_convex_path(a, b)
    losses = path.losses(criterion, x)
    size = losses.max()
    for net, corner, name in ((a, path.corners[0], "A"), (b, path.corners[-1], "B")):
        scale = np.abs(net(x)).max()
        yield close(corner(x), net(x), f"outputs of {name} after its rows are normalised", atol=1e-12 * scale)
    yield close(losses[1:3], losses[1, 0], "loss on segments 2 and 3", atol=1e-9 * size)
    yield close(losses[4:6], losses[4, 0], "loss on segments 5 and 6", atol=1e-9 * size)
    yield at_least(np.diff(losses[3], 2), 0.0, "second differences on segment 4", atol=1e-12 * size)
    ends = losses[0, 0], losses[-1, -1]
    for bound, outer, end, name in zip(path.output_bounds(x), (losses[0], losses[-1]), ends, "AB", strict=True):
        most = landscape.lipschitz_outer_bound(2**0.5, bound)
        if loss == "squared":
            most = landscape.squared_outer_bound(end, bound) - end
        yield at_most(outer - end, most, f"excess on the outer segment of {name}, against its bound")
    twice, y = doubled(rng, half, dim), rng.normal(size=(len(x), 1))
    flat = landscape.almost_convex_path(twice, twice)
    outer = flat.losses(lambda f: squared_loss(f, y), x, points=3)[0]
    yield close(outer, outer[0], "rows covered exactly (ε = 0): loss on the outer segment", rtol=1e-12)
    v = rng.normal(size=a.head.shape)
    trivial = [criterion(TwoLayer(a.weight, (1 - s) * a.head + s * v)(x)) for s in np.linspace(0, 1, 9)]
    what = "second differences while only W₂ moves, to random weights"
    yield at_least(np.diff(trivial, 2), 0.0, what, atol=1e-12 * max(trivial))
    places = np.arange(7)[:, None] + np.linspace(0, 1, losses.shape[1])
    line = linear_barrier(loss, a, b, dim)
    title = f"Width {2 * half}, {dim} components: barrier {size - max(ends):.2g} on the path, {line:.2g} on the line"
    points = {f"{k + 1} {name}": (places[k], losses[k]) for k, name in enumerate(SEGMENTS)}
    axis = f"{'cross-entropy' if loss == 'softmax' else 'squared'} loss"
    yield figure.curves(title, "segment of the path", axis, points=points)


@claim(sources=("cam",))
def path_barrier_bound(key, largest: OneOf(128, 256, 512) = 128, num_steps: Int(300, 800) = 400, draws: Int(6, 12) = 6):
    r"""Barrier bound on the almost convex path.

    On the outer pieces of the path, √r̂ exceeds √r̂(A) by at most $\|W_2\|_1\, \varepsilon_A \sqrt{\frac1N \sum_i
    \|x_i\|^2}$ (with the sum of column norms for many outputs). ‖W₂‖₁ grows as √n at random starts, so the bound need
    not vanish though the excess does. On digits the path beats the straight line with 2 principal components and gains
    nothing with 8.

    $$\sqrt{\hat r(t)} \le \sqrt{\hat r(A)} + \|W_2\|_1 \, \varepsilon_A \sqrt{\frac1N \sum_i \|x_i\|^2}$$

    Assumes: unit rows; squared loss.

    Check: The bound is tested on random networks with one output, d = 2 and 3, n = 64 to 4096, and on pairs trained on
    digits, d = 2, 4 and 8, n = 32 to `largest`.
    """
    rng = data.generator(key)
    widths = np.array([64, 512, 4096])
    excess, bound, mass, moves = np.zeros((4, 2, len(widths), draws))
    for i, dim in enumerate((2, 3)):
        x, y = rng.normal(size=(60, dim)), rng.normal(size=(60, 1))
        for j, n in enumerate(widths):
            for k in range(draws):
                net = normalise_rows(landscape.random_two_layer(rng, dim, int(n), 1))
                cover = landscape.row_covering(net.weight)
                moved = net.weight[cover.nearest]
                shares = (0.0, 0.25, 0.5, 0.75, 1.0)
                steps = [TwoLayer((1 - s) * net.weight + s * moved, net.head)(x) for s in shares]
                risks = [squared_loss(outputs, y) for outputs in steps]
                delta = np.linalg.norm(x, axis=1) * net.mass * cover.radius
                mass[i, j, k], moves[i, j, k] = net.mass, np.mean((steps[-1] - steps[0]) ** 2)
                excess[i, j, k] = max(risks) - risks[0]
                bound[i, j, k] = landscape.squared_outer_bound(risks[0], delta) - risks[0]
    bounded = at_most(excess, bound, "random networks: excess on the outer piece, against its bound")
    yield bounded
    what = "d = 2 and 3: mean squared change of the outputs at n = 4096, against n = 64"
    yield at_most(moves[:, -1].mean(axis=1), moves[:, 0].mean(axis=1), what)
    means = bound.mean(axis=2)
    yield at_most(means[0, -1], means[0, 0], "d = 2: mean bound at n = 4096, against n = 64")
    yield at_least(means[1, -1], means[1, 0], "d = 3: mean bound at n = 4096, against n = 64, does not vanish")
    repeated, what = np.repeat(widths, draws), "d = 3: exponent of n in ‖W₂‖₁, the constant before ε"
    grows, fixed = (slope(repeated, mass[1].ravel(), exponent, what) for exponent in (0.5, 0.0))
    yield grows
    yield erratum(fixed, of=grows, by="cam", prints="the barrier vanishes with ε_n, the constant before ε as if fixed")
    twice = doubled(rng, 16, 3)
    radius = landscape.row_covering(normalise_rows(twice).weight).radius
    what = "rows covered exactly (ε = 0): loss on the outer piece, against ‖W₂‖₁ ε"
    wrong = at_most(squared_loss(twice(x), y), radius * twice.mass, what)
    prints = "(6.11): the loss is at most C ε, where the excess is meant"
    yield erratum(wrong, of=bounded, by="cam", prints=prints)

    sizes = [32, 64 if largest == 128 else 128, largest]
    path_barriers, line_barriers = {}, {}
    for dim in (2, 4, 8):
        x, labels = digit_components(dim)
        criterion = partial(squared_loss, targets=np.eye(10)[labels])
        for n in sizes:
            a, b = trained_pair(rng, dim, n, num_steps=num_steps)
            path = landscape.almost_convex_path(a, b)
            losses = path.losses(criterion, x, points=4)
            ends = losses[0, 0], losses[-1, -1]
            for side, end, delta in zip((losses[0], losses[-1]), ends, path.output_bounds(x), strict=True):
                most = np.sqrt(landscape.squared_outer_bound(end, delta))
                yield at_most(
                    np.sqrt(side), most, f"digits, d = {dim}, n = {n}: √r̂ on an outer piece, against its bound"
                )
            path_barriers[dim, n] = losses.max() - max(ends)
            line_barriers[dim, n] = linear_barrier("squared", a, b, dim)
    n, over = sizes[-1], "barrier of the path over that of the line"
    few, many = (path_barriers[dim, n] / line_barriers[dim, n] for dim in (2, 8))
    yield at_most(few, 0.2, f"digits, d = 2, n = {n}: {over}").as_empirical()
    yield at_least(many, 0.4, f"digits, d = 8, n = {n}: {over}, no gain to speak of").as_empirical()
    lines = {f"bound, d = {d}": (widths, means[i]) for i, d in enumerate((2, 3))}
    points = {f"excess, d = {d}": (widths, excess[i].mean(axis=1)) for i, d in enumerate((2, 3))}
    title = f"Random networks: bound for d = 3 goes from {means[1, 0]:.0f} to {means[1, -1]:.0f}"
    bounds = figure.curves(title, "width n", "excess of the squared loss", log="xy", lines=lines, points=points)
    both = (("path", path_barriers), ("line", line_barriers))
    points = {f"{name}, d = {d}": (sizes, [v[d, m] for m in sizes]) for d in (2, 4, 8) for name, v in both}
    title = f"Digits: path {path_barriers[2, n]:.2g}, line {line_barriers[2, n]:.2g} at d = 2, n = {n}"
    barriers = figure.curves(title, "width n", "barrier of the squared loss", log="xy", points=points)
    title = f"The path's barrier vanishes with width through 2 components, not through 8 ({path_barriers[8, n]:.2g})"
    yield figure.beside(title, bounds, barriers)
