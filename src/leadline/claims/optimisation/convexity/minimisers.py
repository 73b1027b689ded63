"""Minimisers: local and global, one or many, and what the gradient says of them."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, optimisation
from leadline.claims.scenarios.optimisation.small_regressions import FEATURES, logistic_problem
from leadline.evidence import Int, Real, at_least, at_most, claim, close, erratum, exactly, reference
from leadline.optimisation.runs.multistart import settle
from leadline.presentation import figure

_HIMMELBLAU = {
    "minimum": [(3.0, 2.0), (-2.805118, 3.131313), (-3.77931, -3.283186), (3.584428, -1.848127)],
    "saddle": [(-3.073026, -0.081353), (-0.127961, -1.953715), (0.086678, 2.884255), (3.385154, 0.073852)],
    "maximum": [(-0.270845, -0.923039)],
}


class _Landscape(eqx.Module):
    """Five losses of four variables, chosen by number: all of them are one program."""

    number: jax.Array
    logistic: optimisation.LogisticRidge

    def __call__(self, w: jax.Array) -> jax.Array:
        bowl = w[2:] @ w[2:] / 2
        branches = [
            lambda w: self.logistic(w),  # switch hashes its branches, and a module has arrays
            lambda w: optimisation.Huber(0.5, FEATURES)(w),
            lambda w: optimisation.LeastSquares(self.logistic.x, self.logistic.y)(w),
            lambda w: (w[0] ** 2 - 1) ** 2 / 4 + 0.1 * w[0] + w[1] ** 2 / 2 + bowl,
            lambda w: ((w[0] ** 2 + w[1] - 11) ** 2 + (w[0] + w[1] ** 2 - 7) ** 2) / 100 + bowl,
        ]
        return jax.lax.switch(self.number, branches, w)


@claim(sources=("penn",))
def local_minimum_is_global(
    key, starts: Int(40, 300) = 100, penalty: Real(0.01, 1.0, log=True) = 0.05, sparsity: Real(0.0, 0.5) = 0.1
):
    r"""Local minima of convex functions are global.

    Every local minimum of a convex function is global: from any start descent ends at the same loss. On the double
    well the end depends on the start.

    $$l \text{ convex}, \ l(w) \le l(u) \text{ near } w \implies l(w) \le l(u) \text{ everywhere}$$

    Assumes: l is convex.

    Check: The parameter `penalty` is the ridge of the logistic loss, and `sparsity` is the ℓ₁ weight of the LASSO.
    """
    rng = data.generator(key)
    logistic = logistic_problem(rng, penalty)
    begin = rng.uniform(-3, 3, (starts, FEATURES))
    smoothness = logistic.constants().smoothness
    runs = {  # number of the loss, step size, ℓ₁ weight
        "logistic + ridge": (0, 1 / smoothness, 0.0),
        "Huber": (1, 1.0, 0.0),
        "LASSO": (2, 0.25 / (smoothness - penalty), sparsity),
        "double well": (3, 0.05, 0.0),
        "Himmelblau / 100": (4, 0.1, 0.0),
    }
    ends, losses = {}, {}
    for name, (number, step, l1) in runs.items():
        run = settle(_Landscape(jnp.asarray(number), logistic), begin, step, l1=l1)
        ends[name], losses[name] = np.asarray(run.points), np.asarray(run.values)
        yield at_most(run.residuals, 1e-8, f"{name}: ‖g‖ at the end of every run")
    for name in ("logistic + ridge", "Huber", "LASSO"):
        yield at_most(np.ptp(losses[name]), 1e-8, f"{name}: spread of the final losses of {starts} starts")
    wells, minima = losses["double well"], np.sort(np.roots([1.0, 0.0, -1.0, 0.1]).real)[[0, 2]]
    levels = (minima**2 - 1) ** 2 / 4 + 0.1 * minima
    yield at_least(np.ptp(wells), 0.19, "double well: spread of the final losses")
    nearest = levels[np.argmin(np.abs(wells[:, None] - levels), axis=1)]
    yield close(wells, nearest, "double well: final losses against those at the roots of w³ − w + 0.1", atol=1e-8)
    spread = np.ptp(ends["Himmelblau / 100"][:, :2], axis=0)
    yield at_least(spread, 1.0, "Himmelblau: spread of the final points")
    yield at_most(np.abs(losses["Himmelblau / 100"]), 1e-8, "Himmelblau: its four minima have one loss, 0")
    order = np.arange(1, starts + 1)
    excess = {name: (order, np.sort(losses[name] - losses[name].min())[::-1]) for name in list(runs)[:4]}
    title = (
        f"Convex losses end at one value; on the double well {np.mean(wells > 0):.0%} of the starts end 0.2 too high"
    )
    samples, rules = {"double well": wells}, {"global minimum": ("x", levels[0])}
    yield figure.beside(
        title,
        figure.histogram("final loss, double well", "final loss", samples=samples, bins=30, rules=rules),
        figure.curves("excess over the best run", "run, worst first", "excess (0: not shown)", log="y", points=excess),
    )


@claim(sources=("penn",))
def strictly_convex_unique_minimiser(key, features: Int(2, 30) = 8, rank: Int(1, 30) = 5, starts: Int(5, 100) = 40):
    r"""Strict convexity gives a unique minimiser.

    A strictly convex function has at most one minimiser (the exponential has none). Least squares is strictly convex
    if and only if X has full column rank; otherwise its minimisers are w₀ + null(X).

    $$\operatorname{argmin}_w \|y - Xw\|^2 = w_0 + \mathrm{null}(X)$$

    Check: Gradient descent with step size 1/L runs from random starts; X has singular values from 1 to 2.
    """
    rng = data.generator(key)
    samples, r = 40, min(rank, features)

    def solutions(r: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        left, right = (np.linalg.qr(rng.normal(size=(n, r)))[0] for n in (samples, features))
        x, y = left * np.linspace(1.0, 2.0, r) @ right.T, rng.normal(size=samples)
        w = rng.normal(size=(starts, features))
        for _ in range(200):
            w = w - (w @ x.T - y) @ x / 4.0
        return x, y, w

    x, y, w = solutions(features)
    best = np.linalg.lstsq(x, y, rcond=None)[0]
    yield at_most(_distances(w), 1e-6, "full rank: distances between solutions")
    yield close(w, best, "full rank: solutions against the pseudo-inverse", atol=1e-8)
    x, y, w = solutions(r)
    losses = 0.5 * np.sum((w @ x.T - y) ** 2, axis=1)
    apart, rank_of = _distances(w), f"rank {r} of {features}"
    several = at_least(apart, 1e-9, f"{rank_of}: distances between solutions").given(r < features, "rank(X) < p")
    yield several
    yield at_most(np.linalg.norm((w - w[0]) @ x.T, axis=1), 1e-8, f"{rank_of}: ‖X dw‖ between solutions")
    yield at_most(np.ptp(losses), 1e-10, f"{rank_of}: spread of the losses")
    one = at_most(apart, 1e-6, "distances between solutions of least squares").given(r < features, "rank(X) < p")
    yield erratum(one, of=several, by="penn", prints="least squares is strictly convex, hence its minimiser is unique")
    u = np.linspace(0, -700, 71)
    yield at_least(np.exp(u), 0.0, "exp: values, and slopes, on the way down: no minimiser", strict=True)
    yield at_most(np.diff(np.exp(u)), 0.0, "exp: each value below the one before", strict=True)
    direction, normal = np.array([np.cos(0.6), np.sin(0.6)]), np.array([-np.sin(0.6), np.cos(0.6)])
    ends = rng.normal(size=(60, 2))
    ends = ends - np.outer(ends @ direction - 0.8, direction)  # where descent on (direction·w − 0.8)² ends
    solution_set = 0.8 * direction[:, None] + np.outer(normal, [-2.5, 2.5])
    title = f"With rank 1 of 2 descent ends anywhere on w₀ + null(X), up to {_distances(ends).max():.2g} apart"
    lines, arrows = {"w₀ + null(X)": tuple(solution_set)}, {"w₀": ((0.0, 0.0), 0.8 * direction)}
    domain = ((-2.5, 2.5), (-2.5, 2.5))
    yield figure.plane(title, "w₁", "w₂", lines=lines, points={"solutions": ends}, arrows=arrows, domain=domain)


def _distances(w: np.ndarray) -> np.ndarray:
    i, j = np.triu_indices(len(w), 1)
    return np.linalg.norm(w[i] - w[j], axis=1)


@claim(sources=("penn",))
def first_order_optimality(
    key, tilt: Real(0.0, 0.35) = 0.1, starts: Int(400, 1000) = 400, penalty: Real(0.01, 1.0, log=True) = 0.1
):
    r"""First-order optimality condition.

    At an interior local minimum the gradient is 0. For a convex function g = 0 suffices for a global minimum; for
    others the signs of the Hessian's eigenvalues tell minima, saddles and maxima apart, unless H is singular: then
    the test is inconclusive.

    $$g(w^*) = 0, \qquad H \succ 0: \text{minimum}, \quad H \prec 0: \text{maximum}, \quad \lambda_{\min}(H) < 0 <
    \lambda_{\max}(H): \text{saddle}$$

    Assumes: l is C¹ (C² for the classification).

    Check: Newton's method on g = 0 from random starts finds all kinds of critical points; the parameter `tilt` is that
    of the double well.
    """
    rng = data.generator(key)
    box = np.full(2, 5.0)
    found = optimisation.find_critical_points(_plane_wells, -box, box, key=key, starts=starts)
    parts = optimisation.find_critical_points(_Tilted(jnp.asarray(tilt)), -box / 2, box / 2, key=key, starts=starts)
    yield at_most(found.gradient_norms, 1e-8, "Himmelblau: ‖g‖ at the points found")
    named = {kind: found.points[[k == kind for k in found.kinds]] for kind in _HIMMELBLAU}
    counts = [len(points) for points in named.values()]
    yield exactly(counts, [4, 4, 1], "Himmelblau: minima, saddles, maxima")
    for kind, places in _HIMMELBLAU.items():
        nearest = [np.min(np.linalg.norm(named[kind] - place, axis=1)) for place in places]
        yield at_most(nearest, 2e-5, f"Himmelblau: distance of each known {kind} to one found")
    roots = np.sort(np.roots([1.0, 0.0, -1.0, tilt]).real)
    line = sorted((*w, kind) for w, kind in zip(parts.points, parts.kinds, strict=True) if abs(w[1]) < 1e-6)
    places, _, kinds = zip(*line, strict=True)
    yield close(places, roots, "double well: critical points against the roots of w³ − w + c", atol=1e-8)
    yield exactly(kinds, ["minimum", "saddle", "minimum"], "double well + w₂²: kinds of its critical points")
    lowest = reference(places[0], -1.04668, "double well: the deep minimum at c = 0.1", digits=6)
    yield lowest.given(tilt == 0.1, "c = 0.1")
    others = reference(places[1:], [0.10103, 0.94565], "double well: maximum and shallow minimum at c = 0.1", digits=5)
    yield others.given(tilt == 0.1, "c = 0.1")
    logistic = logistic_problem(rng, penalty)
    known = logistic.constants()
    slope = np.linalg.norm(logistic.gradient(jnp.asarray(known.minimiser)))
    yield at_most(slope, 1e-8, "logistic + ridge: ‖g‖ at the minimiser")
    others = known.minimiser + rng.normal(size=(10_000, FEATURES)) * 10 ** rng.uniform(-3, 1, (10_000, 1))
    loss = jax.vmap(logistic)(jnp.asarray(others))
    yield at_least(loss, known.minimum, "logistic + ridge: loss elsewhere against the loss where g = 0", atol=1e-14)
    grid = np.linspace(-5, 5, 60)
    a, b = np.meshgrid(grid, grid)
    height = np.log10((a**2 + b - 11) ** 2 + (a + b**2 - 7) ** 2 + 1)
    title = "Himmelblau's function has {} minima, {} saddles and {} maximum".format(*counts)
    points = {kind: places for kind, places in named.items() if len(places)}
    yield figure.plane(title, "w₁", "w₂", regions=(grid, grid, height), points=points, domain=((-5, 5), (-5, 5)))


def _plane_wells(w: jax.Array) -> jax.Array:
    return optimisation.Himmelblau()(w)


class _Tilted(eqx.Module):
    """The double well along w₁ with a parabola along w₂."""

    tilt: jax.Array

    def __call__(self, w: jax.Array) -> jax.Array:
        return optimisation.DoubleWell(self.tilt)(w[:1]) + w[1] ** 2 / 2
