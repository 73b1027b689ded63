"""Sublevel sets and minima of two-layer linear networks: what is connected, by explicit paths, and what is not."""

import jax
import numpy as np

from leadline import data, landscape
from leadline.evidence import Int, Real, at_least, at_most, claim, close, erratum, exactly
from leadline.landscape import deep_linear
from leadline.landscape.deep_linear import minima_paths
from leadline.presentation import figure


@claim(sources=("cam",))
def linear_network_connected_sublevels(
    key,
    inputs: Int(1, 6) = 3,
    hidden: Int(2, 6) = 2,
    scale: Real(0.1, 3.0, log=True) = 1.0,
    pairs: Int(2, 20) = 6,
    level: Real(0.2, 0.9) = 0.5,
):
    r"""Connected sublevel sets of linear networks.

    With one output and at least two hidden units the sublevel sets of a linear network's risk are connected: from
    anywhere a path leads to one global minimum without going up. With one unit they are not: (w₁w₂ − 1)² ≤ c has two
    parts until c = 1.

    $$p = 1: \; \{(w_1 w_2 - 1)^2 \le c\} \text{ has 2 components for } c < 1; \quad p \ge 2: \; \text{one}$$

    Assumes: one output; squared risk.

    Check: A path joins Gaussian weights with those whose A has all signs flipped.
    """
    axis = np.linspace(-3, 3, 241)
    values = (axis[:, None] * axis[None] - 1) ** 2
    counts = [landscape.sublevel_components(values, c).count for c in (level, 0.99, 1.0)]
    yield exactly(counts, [2, 2, 1], f"one unit: components of (w₁w₂ − 1)² ≤ c for c = {level:g}, 0.99, 1")
    problem = deep_linear.random_problem(inputs, 1, 30, key=key)
    rng = data.generator(jax.random.fold_in(key, 1))
    above, rises, flat = [], [], []
    for _ in range(pairs):
        a, b = scale * rng.normal(size=(1, hidden)), scale * rng.normal(size=(hidden, inputs))
        ways = [minima_paths.scalar_descent_path(problem, sign * a, b) for sign in (1, -1)]
        for way in ways:
            losses = way.losses(problem)
            rises.append(np.diff(losses).max() / losses[0])
            flat.append(np.mean(np.abs(np.diff(losses)) < 1e-12 * losses[0]))
        whole = ways[0].then(ways[1].reversed()).losses(problem)
        above.append(whole.max() / max(whole[0], whole[-1]) - 1)
        joint = [np.abs(one[-1] - other[-1]).max() for one, other in zip(*ways, strict=True)]
    yield at_most(rises, 1e-10, f"largest rise on the way down, {2 * pairs} starts, as a share of the first loss")
    yield at_most(above, 1e-10, f"largest loss on a path from A to −A over that of its ends, less 1, {pairs} pairs")
    yield at_most(joint, 1e-12, "distance between the ends of the two ways down: one and the same minimum")
    one = deep_linear.LinearProblem(np.ones((1, 1)), np.ones((1, 1)))
    plus = minima_paths.scalar_descent_path(one, np.array([[1.6, 0.3]]), np.array([[0.9], [0.2]]), points=15)
    minus = minima_paths.scalar_descent_path(one, np.array([[-1.6, 0.3]]), np.array([[-0.9], [0.2]]), points=15)
    losses = 2 * plus.then(minus.reversed()).losses(one)
    branch = axis[axis > 0.33]
    lines = {"w₁w₂ = 1, one branch": (branch, 1 / branch), "w₁w₂ = 1, the other": (-branch, -1 / branch)}
    regions = axis[::4], axis[::4], (values[::4, ::4] <= level).astype(float)
    title = f"one unit: (w₁w₂ − 1)² ≤ {level:g} in two parts"
    flood = figure.plane(title, "w₁", "w₂", regions=regions, lines=lines)
    lines = {"larger loss of the ends": ([0, len(losses)], [max(losses[0], losses[-1])] * 2)}
    points, title = {"on the path": (np.arange(len(losses)), losses)}, "two units: loss along the path"
    along = figure.curves(title, "position on the path", "(a₁b₁ + a₂b₂ − 1)²", lines=lines, points=points)
    title = f"One unit: two hyperbolas; two units: a path joins both signs, {np.mean(flat):.0%} of it level"
    yield figure.beside(title, flood, along)


@claim(sources=("penn",))
def minima_set_components(
    key,
    d: Int(2, 5) = 4,
    hidden: Int(1, 5) = 2,
    extra: Int(0, 2) = 1,
    ratio: Real(1.3, 2.5) = 1.6,
    pairs: Int(2, 10) = 4,
):
    r"""Components of the set of minima.

    The global minima of a two-layer linear network with p ≤ rank Σ are a copy of GL(p): two components, told apart by
    the sign of det C. Turning uₚ from one to the other climbs (λₚ − λₚ₊₁)/2n, to the next saddle. One unit more than
    the rank joins them all.

    $$\{(U_p C, C^{-1} U_p^T L^*) : C \in GL(p, R)\}, \quad \det C > 0 \;\text{ or }\; \det C < 0$$

    Assumes: λₚ > λₚ₊₁.
    """
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

    times = np.linspace(0, 1, 201)[:, None, None]
    drift, signed, heights, straight, points = [], [], [], [], {}
    for number in range(2 * pairs):
        sign = 1 if number % 2 else -1
        start, end = best.factors(mixing(sign)), best.factors(mixing(sign))
        path = minima_paths.minima_path(problem, start, end, points=41)
        drift += list(np.abs(path.losses(problem) - best.level))
        determinants = np.linalg.det(top.T @ path.a)
        signed.append(sign * determinants)
        if number < 6:
            name = f"det C {'>' if sign > 0 else '<'} 0, path {number // 2 + 1}"
            points[name] = (np.linspace(0, 1, 41), determinants)
        other = best.factors(mixing(-sign))
        line = minima_paths.FactorPath(*(s + times * (e - s) for s, e in zip(start, other, strict=True)))
        straight.append(line.losses(problem).max() - best.level)
        crossing = minima_paths.crossing_path(problem, *start, points=41)
        heights.append(crossing.losses(problem).max() - best.level)
    yield at_most(drift, 1e-10, f"change of the loss on {2 * pairs} paths C(t) within a component")
    what = f"det C times its first sign on {2 * pairs} paths C(t) within a component"
    yield at_least(signed, 0.0, what, strict=True)
    below = problem.eigenvalues[p] if p < d else 0.0
    predicted = (problem.eigenvalues[p - 1] - below) / (2 * problem.samples)
    what = "climb from one component to the other by turning u_p, against (λ_p − λ_{p+1})/2n"
    yield close(heights, predicted, what, rtol=1e-9)
    climb = next_level - best.level
    yield close(climb, predicted, "rise to the next critical level, against (λ_p − λ_{p+1})/2n", rtol=1e-9)
    yield at_least(straight, 1e-6, f"climb on {2 * pairs} straight lines from one component to the other")
    spare, floor = [], problem.loss(problem.best_map)
    for _ in range(pairs):
        ends = []
        for _ in range(2):
            a = rng.normal(size=(d, d + 1))
            kernel = np.linalg.svd(a)[2][d:]
            ends.append((a, np.linalg.pinv(a) @ problem.best_map + kernel.T @ rng.normal(size=(1, d + extra))))
        path = minima_paths.spare_unit_path(problem, *ends, points=21)
        size = np.linalg.norm(path.a, axis=(1, 2)).max() * np.linalg.norm(path.b, axis=(1, 2)).max()
        spare.append(np.abs(path.losses(problem) - floor).max() / max(1.0, size**2))
    yield at_most(spare, 1e-10, f"p = rank + 1: change of the loss on {pairs} paths between random minima")
    axis = np.linspace(-3, 3, 241)
    near = landscape.sublevel_components((axis[:, None] * axis[None] - 1) ** 2, 0.01).count
    two, one = (exactly(near, count, "d = p = 1: components of (ab − 1)² ≤ 0.01") for count in (2, 1))
    yield two
    yield erratum(one, of=two, by="penn", prints="the minima are effectively a connected set")
    title = f"Along paths of constant loss det C keeps its sign: two components, {predicted:.3g} apart in loss"
    rules = {"det C = 0: not a minimum": ("y", 0.0)}
    yield figure.curves(title, "position on the path", "det C", points=points, rules=rules)
