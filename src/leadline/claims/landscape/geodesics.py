"""Shortest paths on a model manifold, and how much longer the ways of optimisers are."""

from typing import Annotated

import numpy as np

from leadline import data, sloppiness
from leadline.evidence import Choice, Range, at_least, at_most, claim, close, figure, instrument, method, printed


@method(
    "geodesics",
    says=(
        "The length of a path of weights is ∫ √(ẇᵀ g(w(t)) ẇ) dt; the shortest solves ẅ = −(JᵀJ)⁻¹Jᵀ ÿ, ÿ the second "
        "derivative of the predictions along ẇ, at constant speed, or has the least energy. It is no straight line of "
        "weights or of data, and it can reach w = ∞, a boundary, after a finite length."
    ),
    formula=r"\ddot w = -(J^T J)^{-1} J^T \frac{d^2}{ds^2} y(w + s \dot w) |_{s=0}, \quad "
    r"L = \int \sqrt{\dot w^T g(w(t)) \dot w}\; dt",
    sources=("penn",),
    shows=("sloppiness.shoot_geodesic", "sloppiness.geodesic_between", "sloppiness.least_energy_path"),
)
def geodesics(
    key,
    n: Annotated[int, Range(3, 12)] = 3,
    slow: Annotated[float, Range(0.05, 0.2)] = 0.1,
    fast: Annotated[float, Range(3.0, 6.0)] = 5.0,
    closer: Annotated[float, Range(1.2, 2.0)] = 1.5,
):
    """Two exponentials at n times up to 3, between the rates (slow, fast) and (1/closer, closer)."""
    from scipy.integrate import quad

    regression = sloppiness.sum_of_exponentials(np.linspace(3 / n, 3.0, n), 2)
    start = np.array([slow, fast])
    end = np.array([1 / closer, closer])
    between = sloppiness.geodesic_between(regression, start, end)
    found, solved = not between.stopped, "the boundary-value problem was solved"
    speed = between.speeds.mean()
    yield close(between.speeds, speed, "speed along the geodesic between two points", rtol=1e-6).given(found, solved)
    shot = sloppiness.shoot_geodesic(regression, start, between.velocities[0], 1.0, edge=1e-9)
    yield close(shot.speeds, shot.speeds[0], "speed along the geodesic shot from the first", rtol=1e-6)
    yield close(shot.points[-1], regression.predict(end), "where the shot arrives", atol=1e-5).given(found, solved)
    polygon = [
        np.linalg.norm(np.diff(regression.predict(p), axis=0), axis=1)
        for p in (
            sloppiness.least_energy_path(regression, np.linspace(between.weights[0], between.weights[-1], m + 1))
            for m in (8, 16)
        )
    ]
    corrected = (4 * polygon[1].sum() - polygon[0].sum()) / 3  # chords fall short by O(1/m²)
    yield close(
        corrected, between.length, "length of the path of least energy, corrected for its chords", rtol=1e-3
    ).given(found, solved)
    straight = np.linspace(start, end, 33)
    scale = np.sqrt(n)
    straight_length = sloppiness.fisher_length(regression, straight) * scale
    chord = float(np.linalg.norm(regression.predict(end) - regression.predict(start)))
    yield at_most(between.length, straight_length, "geodesic, against the straight line of weights", rtol=1e-9)
    yield at_least(between.length, chord, "geodesic, against the straight line of data", rtol=1e-9)
    frozen = float(np.linalg.norm(regression.jacobian(start) @ (end - start)))
    yield printed(
        close(
            frozen,
            straight_length,
            "length of the straight line of weights with the one metric g(w) of its start",
            rtol=0.01,
        ),
        "penn",
        "∫ √(ẇᵀ g(w) ẇ) without the curve parameter in the integrand",
    )

    single = sloppiness.sum_of_exponentials(regression.inputs, 1)
    times = regression.inputs
    whole = quad(lambda r: np.linalg.norm(times * np.exp(-r * times)), slow, np.inf)[0]
    ray = sloppiness.shoot_geodesic(single, np.array([slow]), np.array([1.0]), 1e3, edge=1e-7, rtol=1e-9)
    yield close(
        ray.length, whole, f"one exponential: length at the stop, w = {ray.weights[-1, 0]:.0f}, to w = ∞", rtol=1e-4
    )
    yield at_least(len(ray.stopped), 1, "it stopped at the boundary")
    yield _three_lines(regression, between, straight, straight_length, chord)


def _three_lines(regression, between, straight, straight_length, chord):
    first, last = between.points[0], between.points[-1]
    curves = {
        "geodesic": between.points,
        "straight weights": regression.predict(straight),
        "straight data": first + np.linspace(0, 1, 33)[:, None] * (last - first),
    }
    ahead = (last - first) / np.linalg.norm(last - first)
    off = curves["straight weights"] - first
    bulge = off - np.outer(off @ ahead, ahead)
    aside = bulge[np.argmax(np.linalg.norm(bulge, axis=1))]
    aside = aside / np.linalg.norm(aside)
    back = sloppiness.projected_chord(regression, between.weights[0], between.weights[-1], 24)
    return figure.beside(
        f"Three ways between two models: geodesic {between.length:.4f}, straight weights {straight_length:.4f}, "
        f"straight data {chord:.4f} (off the manifold)",
        figure.curves(
            "in weights (the straight line of data: its nearest models)",
            x="slow rate",
            y="fast rate",
            lines={
                "geodesic": tuple(between.weights.T),
                "straight weights": tuple(straight.T),
                "straight data": tuple(back.T),
            },
            points={"ends": tuple(between.weights[[0, -1]].T)},
        ),
        figure.curves(
            "in data space",
            x="along the straight line",
            y="beside it",
            lines={name: ((c - first) @ ahead, (c - first) @ aside) for name, c in curves.items()},
            points={"ends": ((between.points[[0, -1]] - first) @ ahead, np.zeros(2))},
        ),
    )


@claim(
    "great-circle-geodesic",
    says=(
        "With the metric diag(1, sin²θ) geodesics are great circles and the haversine formula is their length. "
        "Antipodes are joined by infinitely many of length π, and at the poles the chart is singular though the "
        "sphere is not."
    ),
    formula=r"L = 2 \arcsin \sqrt{\sin^2 \tfrac{\Delta\theta}{2} + \sin\theta_1 \sin\theta_2 "
    r"\sin^2 \tfrac{\Delta\varphi}{2}}",
    sources=("penn",),
    assumes=("the great circle keeps 0.1 away from the poles", "the points are not antipodes"),
    shows=("sloppiness.sphere_model", "sloppiness.haversine", "sloppiness.geodesic_between"),
)
def great_circle_geodesic(
    key,
    pairs: Annotated[int, Range(1, 12)] = 4,
    heading: Annotated[float, Range(0.2, 1.4)] = 0.6,
):
    """Random pairs of points, the boundary-value problem of each; and two geodesics between antipodes."""
    rng = data.generator(key)
    sphere = sloppiness.sphere_model()
    made = []
    while len(made) < pairs:
        x = rng.normal(size=(2, 3))
        x /= np.linalg.norm(x, axis=1, keepdims=True)
        normal = np.cross(*x)
        angle = np.arcsin(min(np.linalg.norm(normal), 1.0))
        tilt = np.abs(normal[2]) / np.linalg.norm(normal)  # sine of the least angle to a pole
        if tilt > np.sin(0.1) and (angle > 0.1) and (x[0] @ x[1] > np.cos(3.0)):
            made.append(np.stack([np.arccos(x[:, 2]), np.arctan2(x[:, 1], x[:, 0])], 1))
    lengths, arcs = [], []
    for a, b in made:
        found = sloppiness.geodesic_between(sphere, a, b)
        lengths.append(found.length)
        arcs.append(found)
    exact = [sloppiness.haversine(a, b) for a, b in made]
    yield close(lengths, exact, "length of the geodesic, against the haversine", atol=1e-6)
    planes = max(np.abs(g.points @ np.cross(g.points[0], g.points[-1])).max() for g in arcs)
    yield at_most(planes, 1e-6, "distance of its points from the plane through the centre")
    metric = [sphere.jacobian(w).T @ sphere.jacobian(w) - np.diag([1, np.sin(w[0]) ** 2]) for w in np.concatenate(made)]
    yield close(np.array(metric), 0.0, "JᵀJ against diag(1, sin²θ)", atol=1e-14)
    yield close(np.linalg.det(sphere.metric(np.array([1e-9, 0.3])) * 3), 0.0, "det g at a pole", atol=1e-15)
    begin = np.array([1.1, 0.4])
    across = -sphere.predict(begin)
    for turn in (heading, heading + 0.1, np.pi - heading):
        v = np.array([np.cos(turn), np.sin(turn) / np.sin(begin[0])])
        path = sloppiness.shoot_geodesic(sphere, begin, v, np.pi)
        yield close(path.points[-1], across, f"antipode reached after π with heading {turn:.2f}", atol=1e-6)

    shown = int(np.argmax(exact))
    arc = arcs[shown].points
    towards = arc[len(arc) // 2] + 0.7 * np.cross(arc[0], arc[-1])
    view = {"azimuth": float(np.degrees(np.arctan2(towards[1], towards[0]))), "elevation": 25.0}
    polar, around = (
        np.linspace(0.01, np.pi - 0.01, 13),
        np.linspace(-np.pi / 2, np.pi / 2, 13) + np.radians(view["azimuth"]),
    )
    frame = sloppiness.camera_view(sloppiness.wire_frame(sloppiness.manifold_grid(sphere, polar, around)), **view)
    wrong = sphere.predict(np.linspace(arcs[shown].weights[0], arcs[shown].weights[-1], 60))
    seen = {
        "sphere": frame,
        "geodesic": sloppiness.camera_view(arc, **view),
        "chord": sloppiness.camera_view(arc[[0, -1]], **view),
        "straight in (θ, φ)": sloppiness.camera_view(wrong, **view),
    }
    yield figure.plane(
        f"The geodesic is the great circle: length {lengths[shown]:.6f}, haversine {exact[shown]:.6f}; the chord is "
        f"{np.linalg.norm(arc[-1] - arc[0]):.4f}",
        x="right",
        y="up",
        lines={name: tuple(c.T) for name, c in seen.items()},
        points={"ends": seen["chord"]},
        domain=((-1.1, 1.1), (-1.1, 1.1)),
    )


@instrument(
    "training-path-length",
    says=(
        "The Fisher length of an optimiser's trajectory over that of the geodesic between its ends says how much of a "
        "detour it took on the model manifold: at least 1, exactly 1 for natural-gradient flow on a linear model."
    ),
    formula=r"\frac{\int \sqrt{\dot w^T g(w(t)) \dot w}\, dt}{L_{geodesic}} \ge 1",
    sources=("penn",),
    shows=("sloppiness.path_length", "sloppiness.fisher_length", "sloppiness.optimiser_path"),
)
def training_path_length(
    key,
    noise: Annotated[float, Range(0.001, 0.05, log=True)] = 0.01,
    slow: Annotated[float, Range(0.3, 0.6)] = 0.4,
    fast: Annotated[float, Range(1.5, 3.0)] = 2.0,
    degree: Annotated[int, Choice(1, 2, 3)] = 2,
    steps: Annotated[int, Range(40, 400)] = 150,
):
    """Two exponentials at 6 times from the rates (1, 6): descent, stochastic descent, natural gradient and
    Levenberg-Marquardt; and a polynomial, where every geodesic is straight."""
    rng = data.generator(key)
    flat = sloppiness.polynomial_model(np.linspace(-1, 1, 8), degree)
    target = rng.normal(size=8)
    origin = np.zeros(degree + 1)
    natural = sloppiness.optimiser_path(flat, target, origin, "natural", step=0.05, steps=steps)
    yield close(sloppiness.path_length(flat, natural).ratio, 1.0, "linear model, natural gradient: ratio", atol=1e-3)
    plain = sloppiness.optimiser_path(flat, target, origin, "gradient", step=0.5, steps=steps)
    yield at_least(sloppiness.path_length(flat, plain).ratio, 1.0, "linear model, descent: ratio", atol=1e-6)

    regression = sloppiness.sum_of_exponentials(np.linspace(0.5, 3.0, 6), 2)
    y = regression.predict(np.array([slow, fast])) + noise * rng.normal(size=6)
    start = np.array([1.0, 6.0])
    seed = int(rng.integers(2**31))
    rules = {
        "gradient": (1.0, steps),
        "stochastic": (0.5, steps),
        "natural": (0.05, steps),
        "levenberg-marquardt": (1.0, 20),
    }
    paths, ratios = {}, {}
    for rule, (step, count) in rules.items():
        path = sloppiness.optimiser_path(regression, y, start, rule, step=step, steps=count, seed=seed)
        found = sloppiness.path_length(regression, path)
        paths[rule], ratios[rule] = path, found.ratio
        what = f"{rule}: length {found.length:.4f} over the geodesic's"
        yield at_least(found.ratio, 1.0, what, atol=1e-6).given(not found.geodesic.stopped, "the geodesic was found")

    levels = -np.log(np.linspace(1.0, 1e-6, 13)) / 1.5
    grid = sloppiness.manifold_grid(regression, levels, levels)
    centre, axes = sloppiness.stretched_axes(grid.reshape(-1, 6))

    def seen(points):
        return sloppiness.camera_view((points - centre) @ axes, azimuth=-60.0, elevation=55.0)

    frame = sloppiness.wire_frame(seen(grid))
    tracks = {f"{rule}: ratio {ratios[rule]:.3f}": seen(regression.predict(p)) for rule, p in paths.items()}
    yield figure.curves(
        "Ways of optimisers on the manifold of two exponentials: length over the geodesic from "
        f"{min(ratios.values()):.3f} to {max(ratios.values()):.3f}",
        x="data space, principal directions stretched to equal width",
        y="seen from above",
        lines={"manifold": tuple(frame.T)},
        points={name: tuple(t[:: max(len(t) // 60, 1)].T) for name, t in tracks.items()},
    )
