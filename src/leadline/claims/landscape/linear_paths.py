"""Sublevel sets and minima of two-layer linear networks: what is connected, by explicit paths, and what is not."""

from typing import Annotated

import jax
import numpy as np

from leadline import data, deep_linear, landscape
from leadline.evidence import Range, at_least, at_most, claim, close, exactly, figure, printed


@claim(
    "linear-network-connected-sublevels",
    says=(
        "With one output and at least two hidden units the sublevel sets of a linear network's risk are connected: "
        "from anywhere a path leads to one global minimum without going up. With one unit they are not: "
        "(w₁w₂ − 1)² ≤ c has two parts until c = 1."
    ),
    formula=r"p = 1: \; \{(w_1 w_2 - 1)^2 \le c\} \; has \; 2 \; components \; for \; c < 1; \quad p \ge 2: \; one",
    sources=("cam",),
    assumes=("one output", "squared risk"),
    shows=("deep_linear.scalar_descent_path",),
)
def linear_network_connected_sublevels(
    key,
    inputs: Annotated[int, Range(1, 6)] = 3,
    hidden: Annotated[int, Range(2, 6)] = 2,
    scale: Annotated[float, Range(0.1, 3.0, log=True)] = 1.0,
    pairs: Annotated[int, Range(2, 20)] = 6,
    level: Annotated[float, Range(0.2, 0.9)] = 0.5,
):
    """Flood fill on a 241 × 241 grid; Gaussian weights and the same with all signs of A turned, joined by a path."""
    axis = np.linspace(-3, 3, 241)
    values = (axis[:, None] * axis[None] - 1) ** 2
    counts = [landscape.sublevel_components(values, c).count for c in (level, 0.99, 1.0)]
    yield exactly(counts, [2, 2, 1], f"one unit: components of (w₁w₂ − 1)² ≤ c for c = {level:g}, 0.99, 1")

    problem = deep_linear.random_problem(inputs, 1, 30, key=key)
    rng = data.generator(jax.random.fold_in(key, 1))
    above, rises, flat = [], [], []
    for _ in range(pairs):
        ends = []
        a, b = scale * rng.normal(size=(1, hidden)), scale * rng.normal(size=(hidden, inputs))
        for sign in (1, -1):
            path = deep_linear.scalar_descent_path(problem, sign * a, b)
            losses = path.losses(problem)
            rises.append(np.diff(losses).max() / losses[0])
            flat.append(np.mean(np.abs(np.diff(losses)) < 1e-12 * losses[0]))
            ends.append((path, losses))
        whole = ends[0][0].then(ends[1][0].reversed()).losses(problem)
        above.append(whole.max() / max(whole[0], whole[-1]) - 1)
        joint = [np.abs(part[0][-1] - part[1][-1]).max() for part in zip(ends[0][0], ends[1][0], strict=True)]
    yield at_most(rises, 1e-10, f"largest rise on the way down, {2 * pairs} starts, as a share of the first loss")
    yield at_most(above, 1e-10, f"largest loss on a path from A to −A over that of its ends, less 1, {pairs} pairs")
    yield at_most(joint, 1e-12, "distance between the ends of the two ways down: one and the same minimum")
    yield printed(
        at_most(np.diff(ends[0][1]), 0.0, "change of the loss at each step of the path", strict=True),
        "cam", "there is a decreasing path to the bottom",
    )  # fmt: skip

    one = deep_linear.LinearProblem(np.ones((1, 1)), np.ones((1, 1)))
    plus = deep_linear.scalar_descent_path(one, np.array([[1.6, 0.3]]), np.array([[0.9], [0.2]]), points=15)
    minus = deep_linear.scalar_descent_path(one, np.array([[-1.6, 0.3]]), np.array([[-0.9], [0.2]]), points=15)
    joined = plus.then(minus.reversed())
    losses = 2 * joined.losses(one)
    flood = figure.plane(
        f"one unit: (w₁w₂ − 1)² ≤ {level:g} in two parts", x="w₁", y="w₂",
        regions=(axis[::4], axis[::4], (values[::4, ::4] <= level).astype(float)),
        lines={"w₁w₂ = 1, one branch": (axis[axis > 0.33], 1 / axis[axis > 0.33]),
               "w₁w₂ = 1, the other": (axis[axis < -0.33], 1 / axis[axis < -0.33])},
    )  # fmt: skip
    yield figure.beside(
        f"One unit: two hyperbolas; two units: a path joins both signs below the loss of its ends "
        f"({losses[0]:.2f}, {losses[-1]:.2f}), {np.mean(flat):.0%} of it level",
        flood,
        figure.curves(
            "two units: loss along the path", x="position on the path", y="(a₁b₁ + a₂b₂ − 1)²",
            lines={"larger loss of the ends": ([0, len(losses)], [max(losses[0], losses[-1])] * 2)},
            points={"on the path": (np.arange(len(losses)), losses)},
        ),
    )  # fmt: skip


@claim(
    "minima-set-components",
    says=(
        "The global minima of a two-layer linear network with p ≤ rank Σ are a copy of GL(p): two components, told "
        "apart by the sign of det C; the turn of u_p from one to the other climbs (λ_p − λ_{p+1})/2n, to the next "
        "saddle. One unit more than the rank joins them all."
    ),
    formula=r"\{(U_p C, C^{-1} U_p^T L^*) : C \in GL(p, R)\}, \quad \det C > 0 \;\; or \;\; \det C < 0",
    sources=("penn",),
    assumes=("λ_p > λ_{p+1}",),
    shows=("deep_linear.minima_path", "deep_linear.crossing_path", "deep_linear.spare_unit_path"),
)
def minima_set_components(
    key,
    d: Annotated[int, Range(2, 5)] = 4,
    hidden: Annotated[int, Range(1, 5)] = 2,
    extra: Annotated[int, Range(0, 2)] = 1,
    ratio: Annotated[float, Range(1.3, 2.5)] = 1.6,
    pairs: Annotated[int, Range(2, 10)] = 4,
):
    """Random minima joined in pairs; p is at most d; then the same with d + 1 units."""
    p = min(hidden, d)
    problem = deep_linear.random_problem(d + extra, d, 40, key=key, spectrum=ratio ** -np.arange(d))
    rng = data.generator(jax.random.fold_in(key, 1))
    families = deep_linear.atlas(problem, p, most=2)
    best, next_level = families[0], families[1].level
    top = problem.eigenvectors[:, :p]

    def mixing(sign):
        u, _, v = np.linalg.svd(rng.normal(size=(p, p)))
        found = (u * rng.uniform(0.4, 2.5, p)) @ v
        found[:, 0] *= sign * np.sign(np.linalg.det(found))
        return found

    drift, signs, heights, straight, dets = [], [], [], [], {}
    for number in range(2 * pairs):
        sign = 1 if number % 2 else -1
        start, end = best.factors(mixing(sign)), best.factors(mixing(sign))
        path = deep_linear.minima_path(problem, start, end, points=41)
        drift += list(np.abs(path.losses(problem) - best.level))
        determinants = np.linalg.det(top.T @ path.a)
        signs.append(bool((np.sign(determinants) == sign).all()))
        dets[f"det C {'>' if sign > 0 else '<'} 0, path {number // 2 + 1}"] = determinants
        other = best.factors(mixing(-sign))
        times = np.linspace(0, 1, 201)[:, None, None]
        line = deep_linear.FactorPath(*(s + times * (e - s) for s, e in zip(start, other, strict=True)))
        straight.append(line.losses(problem).max() - best.level)
        crossing = deep_linear.crossing_path(problem, *start, points=41)
        heights.append(crossing.losses(problem).max() - best.level)
    yield at_most(drift, 1e-10, f"change of the loss on {2 * pairs} paths C(t) within a component")
    yield exactly(signs, True, "the sign of det C stays on each of them")
    below = problem.eigenvalues[p] if p < d else 0.0
    predicted = (problem.eigenvalues[p - 1] - below) / (2 * problem.samples)
    yield close(
        heights, predicted, "climb from one component to the other by turning u_p: (λ_p − λ_{p+1})/2n", rtol=1e-9
    )
    yield close(next_level - best.level, predicted, "the same, from the next critical level", rtol=1e-9)
    yield at_least(straight, 1e-6, f"climb on {2 * pairs} straight lines from one component to the other")

    spare, floor = [], problem.loss(problem.best_map)
    for _ in range(pairs):
        ends = []
        for _ in range(2):
            a = rng.normal(size=(d, d + 1))
            kernel = np.linalg.svd(a)[2][d:]
            ends.append((a, np.linalg.pinv(a) @ problem.best_map + kernel.T @ rng.normal(size=(1, d + extra))))
        path = deep_linear.spare_unit_path(problem, *ends, points=21)
        size = np.linalg.norm(path.a, axis=(1, 2)).max() * np.linalg.norm(path.b, axis=(1, 2)).max()
        spare.append(np.abs(path.losses(problem) - floor).max() / max(1.0, size**2))
    yield at_most(spare, 1e-10, f"p = rank + 1: change of the loss on {pairs} paths between random minima")
    axis = np.linspace(-3, 3, 241)
    near = landscape.sublevel_components((axis[:, None] * axis[None] - 1) ** 2, 0.01).count
    yield printed(
        exactly(near, 1, "d = p = 1: components of (ab − 1)² ≤ 0.01"), "penn", "the set of minima is connected"
    )
    t = np.linspace(0, 1, 41)
    few = dict(list(dets.items())[: 2 * min(pairs, 3)])
    yield figure.curves(
        f"Along paths of constant loss det C keeps its sign: two components, {predicted:.3g} apart in loss",
        x="position on the path",
        y="det C",
        points={name: (t, values) for name, values in few.items()},
        rules={"det C = 0: not a minimum": ("y", 0.0)},
    )
