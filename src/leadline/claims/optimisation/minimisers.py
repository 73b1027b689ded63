"""Minimisers: local and global, one or many, and what the gradient says of them."""

from typing import Annotated

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, optimisation
from leadline.claims.optimisation.small_regressions import FEATURES, logistic_problem
from leadline.evidence import Range, at_least, at_most, claim, close, exactly, figure, printed

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


@claim(
    "local-minimum-is-global",
    says=(
        "Every local minimum of a convex function is global: from any start descent ends at the same loss. On the "
        "double well the end depends on the start."
    ),
    formula=r"l \text{ convex}, \ l(w) \le l(u) \text{ near } w \implies l(w) \le l(u) \text{ everywhere}",
    sources=("penn",),
    assumes=("l is convex",),
)
def local_minimum_is_global(
    key,
    starts: Annotated[int, Range(40, 300)] = 100,
    penalty: Annotated[float, Range(0.01, 1.0, log=True)] = 0.05,
    sparsity: Annotated[float, Range(0.0, 0.5)] = 0.1,
):
    """`penalty` is the ridge of the logistic loss, `sparsity` the l₁ weight of LASSO."""
    rng = data.generator(key)
    logistic = logistic_problem(rng, penalty)
    begin = rng.uniform(-3, 3, (starts, FEATURES))
    steep = 4 * (logistic.constants().smoothness - penalty)
    runs = {  # number of the loss, step, l₁
        "logistic + ridge": (0, 1 / logistic.constants().smoothness, 0.0),
        "Huber": (1, 1.0, 0.0),
        "LASSO": (2, 1 / steep, sparsity),
        "double well": (3, 0.05, 0.0),
        "Himmelblau / 100": (4, 0.1, 0.0),
    }
    ends = {}
    for name, (number, step, l1) in runs.items():
        run = optimisation.settle(_Landscape(jnp.asarray(number), logistic), begin, step, l1=l1)
        ends[name] = np.asarray(run.points), np.asarray(run.values)
        yield at_most(run.residuals, 1e-8, f"{name}: ‖g‖ at the end of every run")
    for name in ("logistic + ridge", "Huber", "LASSO"):
        yield at_most(np.ptp(ends[name][1]), 1e-8, f"{name}: spread of the final losses of {starts} starts")
    wells = ends["double well"][1]
    yield at_least(np.ptp(wells), 0.19, "double well: spread of the final losses")
    levels = np.array([-0.102386, 0.097361])
    yield close(
        wells,
        levels[np.argmin(np.abs(wells[:, None] - levels), axis=1)],
        "double well: losses at its minima",
        atol=1e-5,
    )
    points, values = ends["Himmelblau / 100"]
    yield at_least(np.ptp(points[:, :2], axis=0), 1.0, "Himmelblau: spread of the final points")
    yield at_most(np.abs(values), 1e-8, "Himmelblau: its four minima have one loss, 0")
    best = float(np.mean(wells < 0))
    floor = 1e-17  # what is 0 has no place on a logarithmic axis
    shown = {name: np.sort(np.abs(ends[name][1] - ends[name][1].min()))[::-1] + floor for name in
             ("logistic + ridge", "Huber", "LASSO", "double well")}  # fmt: skip
    order = np.arange(1, starts + 1)
    yield figure.beside(
        f"Convex losses end at one value, whatever the start; on the double well {1 - best:.0%} of the starts end 0.2 "
        "too high",
        figure.histogram("final loss, double well", x="final loss", samples={"double well": wells}, bins=30,
                         rules={"global minimum": ("x", levels[0])}),
        figure.curves("excess over the best run", x="run, worst first", y="excess (0 shown as 1e-17)", log="y",
                      points={name: (order, values) for name, values in shown.items()}),
    )  # fmt: skip


@claim(
    "strictly-convex-unique-minimiser",
    says=(
        "A strictly convex function has at most one minimiser (exp has none). Least squares is strictly convex only if "
        "X has full column rank; otherwise its minimisers are w₀ + null(X)."
    ),
    formula=r"\operatorname{argmin}_w \|y - Xw\|^2 = w_0 + \mathrm{null}(X)",
    sources=("penn",),
)
def strictly_convex_unique_minimiser(
    key,
    features: Annotated[int, Range(2, 30)] = 8,
    rank: Annotated[int, Range(1, 30)] = 5,
    starts: Annotated[int, Range(5, 100)] = 40,
):
    """Gradient descent with step 1/L from random starts; X has singular values 1 to 2."""
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
    yield close(w, np.broadcast_to(best, w.shape), "full rank: solutions against the pseudo-inverse", atol=1e-8)
    x, y, w = solutions(r)
    losses = 0.5 * np.sum((w @ x.T - y) ** 2, axis=1)
    apart = _distances(w)
    deficient = r < features
    yield at_least(apart, 1e-9, f"rank {r} of {features}: distances between solutions").given(deficient, "rank(X) < p")
    yield at_most(np.linalg.norm((w - w[0]) @ x.T, axis=1), 1e-8, f"rank {r} of {features}: ‖X dw‖ between solutions")
    yield at_most(np.ptp(losses), 1e-10, f"rank {r} of {features}: spread of the losses")
    yield printed(
        at_most(apart, 1e-6, "distances between solutions of least squares").given(deficient, "rank(X) < p"), "penn",
        "least squares is strictly convex, hence its minimiser is unique",
    )  # fmt: skip
    u = np.linspace(0, -700, 71)
    yield at_least(np.exp(u), 0.0, "exp: values, and slopes, on the way down: no minimiser", strict=True)
    yield at_most(np.diff(np.exp(u)), 0.0, "exp: each value below the one before", strict=True)

    direction = np.array([np.cos(0.6), np.sin(0.6)])
    ends = rng.normal(size=(60, 2))
    ends = ends - np.outer(ends @ direction - 0.8, direction)  # where descent on (direction·w − 0.8)² ends
    along = np.linspace(-2.5, 2.5, 2)
    normal = np.array([-direction[1], direction[0]])
    solution_set = 0.8 * direction + along[:, None] * normal
    yield figure.plane(
        f"With rank 1 of 2 descent ends anywhere on w₀ + null(X): solutions of 60 starts are up to "
        f"{_distances(ends).max():.2g} apart",
        x="w₁", y="w₂", lines={"w₀ + null(X)": (solution_set[:, 0], solution_set[:, 1])}, points={"solutions": ends},
        arrows={"w₀": ((0.0, 0.0), tuple(0.8 * direction))}, domain=((-2.5, 2.5), (-2.5, 2.5)),
    )  # fmt: skip


def _distances(w: np.ndarray) -> np.ndarray:
    i, j = np.triu_indices(len(w), 1)
    return np.linalg.norm(w[i] - w[j], axis=1)


@claim(
    "first-order-optimality",
    says=(
        "At an interior local minimum the gradient is 0. For a convex function g = 0 suffices for a global minimum; "
        "for others the signs of the Hessian's eigenvalues tell minima, saddles and maxima apart."
    ),
    formula=r"g(w^*) = 0, \qquad H \succ 0: \text{minimum}, \quad H \prec 0: \text{maximum}, \quad \text{else saddle}",
    sources=("penn",),
    assumes=("l is C¹ (C² for the classification)",),
)
def first_order_optimality(
    key,
    tilt: Annotated[float, Range(0.0, 0.35)] = 0.1,
    starts: Annotated[int, Range(400, 1000)] = 400,
    penalty: Annotated[float, Range(0.01, 1.0, log=True)] = 0.1,
):
    """Newton's method on g = 0 from random starts finds all kinds; `tilt` is that of the double well."""
    rng = data.generator(key)
    box = np.full(2, 5.0)
    found = optimisation.find_critical_points(_plane_wells, -box, box, key=key, starts=starts)
    parts = optimisation.find_critical_points(_Tilted(jnp.asarray(tilt)), -box / 2, box / 2, key=key, starts=starts)
    yield at_most(found.gradient_norms, 1e-8, "Himmelblau: ‖g‖ at the points found")
    counts = [found.kinds.count(kind) for kind in ("minimum", "saddle", "maximum")]
    yield exactly(counts, [4, 4, 1], "Himmelblau: minima, saddles, maxima")
    for kind, places in _HIMMELBLAU.items():
        mine = found.points[[k == kind for k in found.kinds]]
        nearest = [np.min(np.linalg.norm(mine - place, axis=1)) for place in places]
        yield at_most(nearest, 2e-5, f"Himmelblau: distance of each known {kind} to one found")
    roots = np.sort(np.roots([1.0, 0.0, -1.0, tilt]).real)
    line = parts.points[np.abs(parts.points[:, 1]) < 1e-6]
    kinds = [kind for kind, w in zip(parts.kinds, parts.points, strict=True) if abs(w[1]) < 1e-6]
    order = np.argsort(line[:, 0])
    yield close(line[order, 0], roots, "double well: critical points against the roots of w³ − w + c", atol=1e-8)
    yield exactly([kinds[i] for i in order], ["minimum", "saddle", "minimum"], "double well + w₂²: their kinds")
    reference = [-1.04668, 0.10103, 0.94565]
    yield close(line[order, 0], reference, "double well: −1.04668, 0.10103, 0.94565", atol=1e-5).given(
        tilt == 0.1, "c = 0.1"
    )

    logistic = logistic_problem(rng, penalty)
    known = logistic.constants()
    x, y = np.asarray(logistic.x), np.asarray(logistic.y)
    w = known.minimiser
    slope = -x.T @ (y / (1 + np.exp(y * (x @ w)))) / len(y) + penalty * w
    yield at_most(np.linalg.norm(slope), 1e-8, "logistic + ridge: ‖g‖ at the minimiser")
    others = w + rng.normal(size=(10_000, FEATURES)) * 10 ** rng.uniform(-3, 1, (10_000, 1))
    loss = np.mean(np.logaddexp(0, -y * (others @ x.T)), axis=1) + penalty / 2 * np.sum(others**2, axis=1)
    yield at_least(loss, known.minimum, "convex: loss elsewhere against the loss where g = 0", atol=1e-14)

    grid = np.linspace(-5, 5, 60)
    a, b = np.meshgrid(grid, grid)
    height = np.log10((a**2 + b - 11) ** 2 + (a + b**2 - 7) ** 2 + 1)
    named = {kind: found.points[[k == kind for k in found.kinds]] for kind in ("minimum", "saddle", "maximum")}
    yield figure.plane(
        "Himmelblau's function has {} minima, {} saddles and {} maximum".format(*counts), x="w₁", y="w₂",
        regions=(grid, grid, height), points={k: v for k, v in named.items() if len(v)}, domain=((-5, 5), (-5, 5)),
    )  # fmt: skip


def _plane_wells(w: jax.Array) -> jax.Array:
    return optimisation.Himmelblau()(w)


class _Tilted(eqx.Module):
    """The double well along w₁ with a parabola along w₂."""

    tilt: jax.Array

    def __call__(self, w: jax.Array) -> jax.Array:
        return optimisation.DoubleWell(self.tilt)(w[:1]) + w[1] ** 2 / 2
