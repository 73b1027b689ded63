"""Shortest paths on a model manifold, and how much longer the ways of optimisers are."""

import numpy as np

from leadline import data
from leadline.evidence import Int, OneOf, Real, at_least, at_most, claim, close, exactly, instrument, method
from leadline.landscape import sloppiness
from leadline.landscape.sloppiness.manifolds import model_manifolds
from leadline.landscape.sloppiness.manifolds.geodesic_paths import projected_chord
from leadline.landscape.sloppiness.manifolds.path_lengths import optimiser_path
from leadline.presentation import figure


@method(sources=("penn",))
def geodesics(
    key, n: Int(3, 12) = 3, slow: Real(0.05, 0.2) = 0.1, fast: Real(3.0, 6.0) = 5.0, closer: Real(1.2, 2.0) = 1.5
):
    r"""Geodesics on the model manifold.

    The length of a path of weights is $\int \sqrt{\dot w^T g(w(t))\, \dot w}\, dt$. The shortest path solves $\ddot w
    = -(J^T J)^{-1} J^T \ddot y$ at constant speed, where $\ddot y$ is the second derivative of the predictions along
    $\dot w$; equivalently, it has the least energy. It is a straight line neither in the weights nor in the data, and
    it can reach w = ∞, a boundary, after a finite length.

    $$\ddot w = -(J^T J)^{-1} J^T \frac{d^2}{ds^2} y(w + s \dot w) |_{s=0}, \quad L = \int \sqrt{\dot w^T g(w(t)) \dot
    w}\; dt$$

    Check: The model is a sum of two exponentials at n times up to 3, and the geodesic runs between the rates (`slow`,
    `fast`) and (1/`closer`, `closer`).
    """
    from scipy.integrate import quad

    regression = sloppiness.sum_of_exponentials(np.linspace(3 / n, 3.0, n), 2)
    start, end = np.array([slow, fast]), np.array([1 / closer, closer])
    between = sloppiness.geodesic_between(regression, start, end)
    solved = not between.stopped, "the boundary-value problem was solved"
    mean_speed, arrival = between.speeds.mean(), regression.predict(end)
    yield close(between.speeds, mean_speed, "speed along the geodesic between two points", rtol=1e-6).given(*solved)
    shot = sloppiness.shoot_geodesic(regression, start, between.velocities[0], 1.0, edge=1e-9)
    yield close(shot.speeds, shot.speeds[0], "speed along the geodesic shot from the first point", rtol=1e-6)
    yield close(shot.points[-1], arrival, "end of the geodesic shot from the first point", atol=1e-5).given(*solved)
    lengths = []
    for m in (8, 16):
        path = sloppiness.least_energy_path(regression, np.linspace(between.weights[0], between.weights[-1], m + 1))
        lengths.append(np.linalg.norm(np.diff(regression.predict(path), axis=0), axis=1).sum())
    corrected = (4 * lengths[1] - lengths[0]) / 3  # chords fall short by O(1/m²)
    what = "length of the path of least energy, corrected for its chords, against the geodesic's"
    yield close(corrected, between.length, what, rtol=1e-3).given(*solved)
    straight = np.linspace(start, end, 33)
    straight_length = sloppiness.fisher_length(regression, straight) * np.sqrt(n)
    chord = np.linalg.norm(arrival - regression.predict(start))
    yield at_most(between.length, straight_length, "length of the geodesic, against the line of weights", rtol=1e-9)
    yield at_least(between.length, chord, "length of the geodesic, against the straight line of data", rtol=1e-9)
    times = regression.inputs
    single = sloppiness.sum_of_exponentials(times, 1)
    whole = quad(lambda r: np.linalg.norm(times * np.exp(-r * times)), slow, np.inf)[0]
    ray = sloppiness.shoot_geodesic(single, np.array([slow]), np.array([1.0]), 1e3, edge=1e-7, rtol=1e-9)
    what = f"one exponential: length where the geodesic stops, w = {ray.weights[-1, 0]:.0f}, against that to w = ∞"
    yield close(ray.length, whole, what, rtol=1e-4)
    yield exactly(ray.stopped, "boundary of the manifold", "one exponential: why the geodesic stopped")
    first, last = between.points[0], between.points[-1]
    curves = {"geodesic": between.points, "straight weights": regression.predict(straight)}
    curves["straight data"] = np.linspace(first, last, 33)
    ahead = (last - first) / np.linalg.norm(last - first)
    off = curves["straight weights"] - first
    bulge = off - np.outer(off @ ahead, ahead)
    aside = bulge[np.argmax(np.linalg.norm(bulge, axis=1))]
    aside = aside / np.linalg.norm(aside)
    back = projected_chord(regression, between.weights[0], between.weights[-1], 24)
    lines = {"geodesic": between.weights, "straight weights": straight, "straight data": back}
    lines, points = {name: tuple(w.T) for name, w in lines.items()}, {"ends": tuple(between.weights[[0, -1]].T)}
    title = "in weights (the straight line of data: its nearest models)"
    weights = figure.curves(title, "slow rate", "fast rate", lines=lines, points=points)
    lines = {name: ((c - first) @ ahead, (c - first) @ aside) for name, c in curves.items()}
    points = {"ends": ([0.0, (last - first) @ ahead], [0.0, 0.0])}
    space = figure.curves("in data space", "along the straight line", "beside it", lines=lines, points=points)
    title = f"Geodesic {between.length:.4f}, straight weights {straight_length:.4f}, straight data {chord:.4f}"
    yield figure.beside(title, weights, space)


@claim(sources=("penn",))
def great_circle_geodesic(key, pairs: Int(1, 12) = 4, heading: Real(0.2, 1.4) = 0.6):
    r"""Great circles and the haversine formula.

    With the metric diag(1, sin²θ) geodesics are great circles and the haversine formula gives their length. Antipodes
    are joined by infinitely many geodesics of length π, and at the poles the chart is singular though the sphere is
    not.

    $$L = 2 \arcsin \sqrt{\sin^2 \tfrac{\Delta\theta}{2} + \sin\theta_1 \sin\theta_2 \sin^2 \tfrac{\Delta\varphi}{2}}$$

    Assumes: the great circle keeps 0.1 away from the poles; the points are not antipodes.
    """
    rng = data.generator(key)
    sphere = model_manifolds.sphere_model()
    made = []
    while len(made) < pairs:
        x = rng.normal(size=(2, 3))
        x /= np.linalg.norm(x, axis=1, keepdims=True)
        normal = np.cross(*x)
        angle = np.arcsin(min(np.linalg.norm(normal), 1.0))
        tilt = np.abs(normal[2]) / np.linalg.norm(normal)  # sine of the least angle to a pole
        if tilt > np.sin(0.1) and (angle > 0.1) and (x[0] @ x[1] > np.cos(3.0)):
            made.append(np.stack([np.arccos(x[:, 2]), np.arctan2(x[:, 1], x[:, 0])], 1))
    arcs = [sloppiness.geodesic_between(sphere, a, b) for a, b in made]
    exact = [model_manifolds.haversine(a, b) for a, b in made]
    yield close([g.length for g in arcs], exact, "length of the geodesic, against the haversine", atol=1e-6)
    planes = max(np.abs(g.points @ np.cross(g.points[0], g.points[-1])).max() for g in arcs)
    yield at_most(planes, 1e-6, "distance of the geodesic's points from the plane through the centre")
    metric = [sphere.jacobian(w).T @ sphere.jacobian(w) - np.diag([1, np.sin(w[0]) ** 2]) for w in np.concatenate(made)]
    yield close(metric, 0.0, "JᵀJ − diag(1, sin²θ)", atol=1e-14)
    yield close(np.linalg.det(sphere.metric(np.array([1e-9, 0.3])) * 3), 0.0, "det g at a pole", atol=1e-15)
    begin = np.array([1.1, 0.4])
    for turn in (heading, heading + 0.1, np.pi - heading):
        v = np.array([np.cos(turn), np.sin(turn) / np.sin(begin[0])])
        path = sloppiness.shoot_geodesic(sphere, begin, v, np.pi)
        what = f"place after length π with heading {turn:.2f}, against the antipode"
        yield close(path.points[-1], -sphere.predict(begin), what, atol=1e-6)
    longest = int(np.argmax(exact))
    found, arc = arcs[longest], arcs[longest].points
    towards = arc[len(arc) // 2] + 0.7 * np.cross(arc[0], arc[-1])
    azimuth = np.arctan2(towards[1], towards[0])
    polar, around = np.linspace(0.01, np.pi - 0.01, 13), np.linspace(-np.pi / 2, np.pi / 2, 13) + azimuth
    shown = {
        "sphere": model_manifolds.wire_frame(sloppiness.manifold_grid(sphere, polar, around)),
        "geodesic": arc,
        "chord": arc[[0, -1]],
        "straight in (θ, φ)": sphere.predict(np.linspace(found.weights[0], found.weights[-1], 60)),
    }
    view = {"azimuth": float(np.degrees(azimuth)), "elevation": 25.0}
    seen = {name: model_manifolds.camera_view(points, **view) for name, points in shown.items()}
    title = f"The geodesic is the great circle: length {found.length:.6f}, haversine {exact[longest]:.6f}"
    lines, domain = {name: tuple(c.T) for name, c in seen.items()}, ((-1.1, 1.1), (-1.1, 1.1))
    yield figure.plane(title, "right", "up", lines=lines, points={"ends": seen["chord"]}, domain=domain)


@instrument(sources=("penn",), shows=("landscape.sloppiness.fisher_length",))
def training_path_length(
    key,
    noise: Real(0.001, 0.05, log=True) = 0.01,
    slow: Real(0.3, 0.6) = 0.4,
    fast: Real(1.5, 3.0) = 2.0,
    degree: OneOf(1, 2, 3) = 2,
    num_steps: Int(40, 400) = 150,
):
    r"""Fisher length of a training path.

    The Fisher length of an optimiser's trajectory, divided by that of the geodesic between its ends, says how much of
    a detour it took on the model manifold: the ratio is at least 1, and exactly 1 for natural-gradient flow on a
    linear model.

    $$\frac{\int \sqrt{\dot w^T g(w(t)) \dot w}\, dt}{L_{\mathrm{geodesic}}} \ge 1$$

    Check: On two exponentials at 6 times, from the rates (1, 6), the paths of gradient descent, stochastic gradient
    descent, natural gradient and Levenberg–Marquardt are measured. The last case is a polynomial, where every geodesic
    is straight.
    """
    rng = data.generator(key)
    flat = sloppiness.polynomial_model(np.linspace(-1, 1, 8), degree)
    target = rng.normal(size=8)
    origin = np.zeros(degree + 1)
    natural = optimiser_path(flat, target, origin, "natural", step_size=0.05, num_steps=num_steps)
    yield close(
        sloppiness.path_length(flat, natural).ratio, 1.0, "linear model, natural gradient: ratio of lengths", atol=1e-3
    )
    plain = optimiser_path(flat, target, origin, "gradient", step_size=0.5, num_steps=num_steps)
    yield at_least(
        sloppiness.path_length(flat, plain).ratio, 1.0, "linear model, gradient descent: ratio of lengths", atol=1e-6
    )
    regression = sloppiness.sum_of_exponentials(np.linspace(0.5, 3.0, 6), 2)
    y = regression.predict(np.array([slow, fast])) + noise * rng.normal(size=6)
    start, seed = np.array([1.0, 6.0]), int(rng.integers(2**31))
    step_sizes = {"gradient": 1.0, "stochastic": 0.5, "natural": 0.05, "levenberg-marquardt": 1.0}
    paths, ratios = {}, {}
    for rule, step in step_sizes.items():
        count = 20 if rule == "levenberg-marquardt" else num_steps
        path = optimiser_path(regression, y, start, rule, step_size=step, num_steps=count, seed=seed)
        found = sloppiness.path_length(regression, path)
        paths[rule], ratios[rule] = path, found.ratio
        what = f"{rule}: length {found.length:.4f} over the geodesic's"
        yield at_least(found.ratio, 1.0, what, atol=1e-6).given(not found.geodesic.stopped, "the geodesic was found")
    levels = -np.log(np.linspace(1.0, 1e-6, 13)) / 1.5
    grid = sloppiness.manifold_grid(regression, levels, levels)
    centre, axes = model_manifolds.stretched_axes(grid.reshape(-1, 6))

    def seen(points):
        return model_manifolds.camera_view((points - centre) @ axes, azimuth=-60.0, elevation=55.0)

    lines = {"manifold": tuple(model_manifolds.wire_frame(seen(grid)).T)}
    tracks = {f"{rule}: ratio {ratios[rule]:.3f}": seen(regression.predict(p)) for rule, p in paths.items()}
    points = {name: tuple(t[:: max(len(t) // 60, 1)].T) for name, t in tracks.items()}
    title = f"Optimisers take {min(ratios.values()):.3f} to {max(ratios.values()):.3f} times the geodesic's length"
    along = "data space, principal directions stretched to equal width"
    yield figure.curves(title, along, "seen from above", lines=lines, points=points)
