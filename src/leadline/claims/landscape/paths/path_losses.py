"""The almost convex path for other losses than the squared one, and from a random start to a trained network."""

import numpy as np

from leadline import data, landscape
from leadline.claims.scenarios.landscape.digit_components import digit_components
from leadline.evidence import Int, OneOf, Real, at_least, at_most, claim, close
from leadline.landscape.paths.almost_convex_paths import normalise_rows
from leadline.landscape.two_layer_fits import squared_loss
from leadline.networks import TwoLayer
from leadline.presentation import figure


def scalar_losses(y: np.ndarray) -> dict:
    """Three convex losses of one output per example: name -> loss of the outputs (N, 1), labels y = ±1."""
    from scipy.special import huber

    return {
        "squared": lambda f: float(np.mean((f[:, 0] - y) ** 2)),
        "logistic": lambda f: float(np.mean(np.logaddexp(0.0, -y * f[:, 0]))),
        "Huber": lambda f: float(np.mean(huber(1.0, f[:, 0] - y))),
    }


@claim(sources=("cam",))
def path_for_convex_losses(
    key,
    half: Int(2, 256, log=True) = 32,
    dim: Int(2, 8) = 2,
    samples: Int(20, 400) = 200,
    ridge: Real(1e-3, 10.0, log=True) = 0.1,
):
    r"""Almost convex path for Lipschitz losses.

    The almost convex path works for every loss that is convex in the outputs and locally Lipschitz: it is convex in
    the middle, and the excess outside is at most $\mathrm{Lip} \cdot \|W_2\|_1\, \varepsilon_A$ times the mean of ‖x‖.
    This covers the squared loss (with its local constant), the logistic loss and the Huber loss.

    $$\hat r(t) - \hat r(A) \le \mathrm{Lip} \cdot \|W_2\|_1 \, \varepsilon_A \, \frac1N \sum_i \|x_i\|$$

    Assumes: the loss is convex and locally Lipschitz in the output.

    Check: Both networks have random rows, and W₂ fitted by ridge regression to the labels sign(x₁x₂).
    """
    rng = data.generator(key)
    x = rng.normal(size=(samples, dim))
    y = np.where(x[:, 0] * x[:, 1] > 0, 1.0, -1.0)
    nets = []
    for _ in range(2):
        rows = rng.normal(size=(2 * half, dim))
        hidden = np.maximum(x @ rows.T, 0.0)
        second = np.linalg.solve(hidden.T @ hidden + ridge * np.eye(2 * half), hidden.T @ y)
        nets.append(TwoLayer(rows, second[None]))
    path = landscape.almost_convex_path(*nets)
    size, profiles = np.linalg.norm(x, axis=1).mean(), {}
    corners, covers = (path.corners[0], path.corners[-1]), (path.covering_a, path.covering_b)
    for name, criterion in scalar_losses(y).items():
        losses = profiles[name] = path.losses(criterion, x)
        scale = losses.max()
        yield at_least(np.diff(losses[3], 2), 0.0, f"{name}: second differences on segment 4", atol=1e-10 * scale)
        yield close(losses[1:3], losses[1, 0], f"{name}: loss on segments 2 and 3", atol=1e-9 * scale)
        yield close(losses[4:6], losses[4, 0], f"{name}: loss on segments 5 and 6", atol=1e-9 * scale)
        outer = (losses[0] - losses[0, 0], losses[-1] - losses[-1, -1])
        for excess, corner, cover, bound, net in zip(outer, corners, covers, path.output_bounds(x), "AB", strict=True):
            most = corner.mass * cover.radius * size  # Lip = 1
            if name == "squared":
                most = landscape.lipschitz_outer_bound(2 * np.abs(corner(x)[:, 0] - y) + bound, bound)
            yield at_most(excess, most, f"{name}: excess on the outer segment of {net}, against its bound")
    places = (np.arange(7)[:, None] + np.linspace(0, 1, 9)).ravel()
    rises = ", ".join(f"{name} {v.max() - max(v[0, 0], v[-1, -1]):.2g}" for name, v in profiles.items())
    points = {name: (places, losses.ravel()) for name, losses in profiles.items()}
    title = f"Width {2 * half}, d = {dim}, barriers: {rises}"
    yield figure.curves(title, "segment of the path", "loss", points=points)


def _first_change(net: TwoLayer, x: np.ndarray, targets: np.ndarray) -> float:
    """The largest change of the squared loss, up or down, while the rows move to their centres."""
    net = normalise_rows(net)
    moved = net.weight[landscape.row_covering(net.weight).nearest]
    steps = [TwoLayer((1 - s) * net.weight + s * moved, net.head)(x[::5]) for s in (0.0, 0.5, 1.0)]
    losses = [squared_loss(f, targets[::5]) for f in steps]
    return max(abs(loss - losses[0]) for loss in losses)


@claim(sources=("cam",), empirical=True)
def path_from_initialisation(
    key,
    dim: OneOf(2, 3) = 2,
    largest: OneOf(128, 256, 512) = 128,
    starts: Int(4, 8) = 4,
    num_steps: Int(300, 800) = 300,
):
    r"""Descending path from initialisation to solution.

    From a wide random network to a trained one the almost convex path descends, but for a bump at the start that
    shrinks with the width and a rise of order $\varepsilon_B$ before the end. On digits the $\varepsilon_B$ of trained
    rows falls with the width too; in general it need not: rows in two directions keep $\varepsilon_B = \sqrt 2$.

    $$\hat r(t) \le \hat r(A) + O(\varepsilon_A), \quad \hat r(t) \le \hat r(B) + O(\varepsilon_B)$$

    Assumes: few principal components: 2 or 3.

    Check: Networks of width n = 16 to `largest` are trained on the digits with squared loss. For half of them A is the
    random start of B itself, for the others another random network. The bump is the rise above A on the first segment.
    """
    rng = data.generator(key)
    x, labels = digit_components(dim)
    targets = np.eye(10)[labels]
    widths = np.array([16, 48, largest])
    tails, random_radii, trained_radii = np.zeros((3, len(widths), starts))
    places, profiles = (np.arange(7)[:, None] + np.linspace(0, 1, 5)).ravel(), {}

    def drawn(n):
        return landscape.random_two_layer(rng, dim, int(n), 10)

    changes = [np.mean([_first_change(drawn(n), x, targets) for _ in range(40)]) for n in widths]
    for i, n in enumerate(widths):
        for j in range(starts):
            start = drawn(n)
            trained = landscape.fit_two_layer(start, x, labels, rng=rng, num_steps=num_steps)
            path = landscape.almost_convex_path(start if j % 2 == 0 else drawn(n), trained)
            losses = path.losses(lambda f: squared_loss(f, targets), x, points=5)
            ends = losses[0, 0], losses[-1, -1]
            outer = zip(ends, path.output_bounds(x), strict=True)
            most = [landscape.squared_outer_bound(end, delta) - end for end, delta in outer]
            bump, tails[i, j] = losses[0].max() - ends[0], losses[-1].max() - ends[1]
            random_radii[i, j], trained_radii[i, j] = path.covering_a.radius, path.covering_b.radius
            if j == 0:
                profiles[f"n = {n}"] = (places, losses.ravel())
            yield at_most([bump, tails[i, j]], most, f"n = {n}, start {j}: bump and last rise, against their bounds")
            larger = max(losses[3, 0], losses[3, -1])
            yield at_most(losses[3], larger, f"n = {n}, start {j}: loss on segment 4, against its ends", rtol=1e-12)
    what = f"random networks: mean change of the loss on segment 1, up or down, at n = {largest}, against n = 16"
    yield at_most(changes[-1], changes[0], what)
    rises, shrunk = tails.mean(axis=1), trained_radii[-1].mean() / trained_radii[0].mean()
    yield at_most(rises[-1], rises[0], f"mean last rise at n = {largest}, against n = 16")
    yield at_most(shrunk, 0.8, f"digits: ε_B at n = {largest} over that at n = 16")
    for n in widths:
        radius = landscape.row_covering(np.repeat(np.eye(2), n // 2, axis=0)).radius
        yield close(radius, 2**0.5, f"rows in two directions only, n = {n}: ε_B", rtol=1e-12)
    many, radii = np.log(np.repeat(widths, starts)), {"ε_A, random": random_radii, "ε_B, trained": trained_radii}
    powers = [np.polyfit(many, np.log(found.ravel()), 1)[0] for found in radii.values()]
    title = "Loss from a random network to a trained one"
    along = figure.curves(title, "segment of the path", "squared loss", log="y", points=profiles)
    points = {name: (widths, r.mean(axis=1), r.min(axis=1), r.max(axis=1)) for name, r in radii.items()}
    title = f"Exponents of n: random rows {powers[0]:.2f}, trained rows {powers[1]:.2f}"
    covering = figure.curves(title, "width n", "covering radius", log="xy", points=points)
    title = f"n = 16 to {largest}: the last rise goes from {rises[0]:.2g} to {rises[-1]:.2g}"
    yield figure.beside(title, along, covering)
