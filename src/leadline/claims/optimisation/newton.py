"""Newton's method: the model it minimises, what attracts it, and its inexact form by conjugate gradients."""

import time
from typing import Annotated

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, optimisation
from leadline.claims.optimisation import plain_problems
from leadline.claims.optimisation.basins import himmelblau, himmelblau_points
from leadline.claims.optimisation.line_search_zigzag import ellipse
from leadline.evidence import Range, at_least, at_most, close, exactly, figure, method


def _iterates(rule, objective, start, steps):
    """w⁰ … w^T by the rule's own updates, one by one: small problems need no compiled loop."""
    points, memory = [jnp.asarray(start, float)], rule.init(start)
    for _ in range(steps):
        w = points[-1]
        change, memory = rule.update(objective.gradient(w), memory, w, value_fn=objective)
        points.append(w + change)
    return np.array(points)


@method(
    "newton-method",
    says=(
        "Solve H d = −g and move by d: the stationary point of the quadratic model, without a step size. Options are a "
        "damping τI, |H| for H, and an Armijo search. Pure Newton is drawn to saddles and maxima where H is indefinite."
    ),
    formula=r"w \leftarrow w - (H + \tau I)^{-1} g",
    sources=("sheet", "penn"),
    assumes=("H + τI is invertible",),
    shows=("optimisation.newton", "optimisation.modified_newton_step", "optimisation.armijo_step"),
)
def newton_method(
    key,
    dimension: Annotated[int, Range(1, 20)] = 3,
    condition: Annotated[float, Range(1.0, 1e4, log=True)] = 100.0,
    start: Annotated[float, Range(-0.3, 0.45)] = 0.2,
    damping: Annotated[float, Range(1.1, 10.0)] = 2.0,
):
    """One step on a quadratic; five steps of a logistic regression in two bases; the double well from `start`."""
    rng = data.generator(key)
    basis = np.linalg.qr(rng.normal(size=(dimension, dimension)))[0]
    matrix = (basis * np.geomspace(1.0, condition, dimension)) @ basis.T
    linear = rng.normal(size=dimension)
    bowl = optimisation.Quadratic(jnp.asarray((matrix + matrix.T) / 2), jnp.asarray(linear))
    after = _iterates(optimisation.newton(), bowl, rng.normal(size=dimension), 1)[1]
    best = np.linalg.solve(matrix, linear)
    yield close(after, best, "one step on a quadratic, against its minimiser", atol=1e-10)

    x, y = rng.normal(size=(20 * dimension, dimension)), rng.choice([-1.0, 1.0], 20 * dimension)
    change = np.eye(dimension) + 0.3 * rng.normal(size=(dimension, dimension)) / np.sqrt(dimension)
    first = 0.3 * rng.normal(size=dimension)
    here = _iterates(optimisation.newton(), optimisation.LogisticRidge(x, y), first, 4)
    there = _iterates(
        optimisation.newton(), optimisation.LogisticRidge(x @ change, y), np.linalg.solve(change, first), 4
    )
    yield close(there @ change.T, here, "iterates for l(Au) under w = Au, against those for l", atol=1e-8)

    well = optimisation.DoubleWell(0.1)
    ends = {
        name: float(_iterates(rule, well, np.full(dimension, start), 60)[-1, 0])  # one well for each coordinate
        for name, rule in (
            ("pure", optimisation.newton()),
            ("damped", optimisation.newton(damping)),
            ("|H|", optimisation.newton(0.2, curvature="absolute")),
        )
    }
    yield close(
        ends["pure"], 0.101031, "double well from the hilltop: the limit of pure Newton is the maximum", atol=1e-6
    )
    minima = np.sort(np.roots([1.0, 0.0, -1.0, 0.1]).real)[[0, 2]]
    off = {name: float(np.min(np.abs(ends[name] - minima))) for name in ("damped", "|H|")}
    hill, words = abs(start - 0.1010312579) > 1e-3, "not started on the maximum"
    yield at_most(off["damped"], 1e-3, f"with damping {damping:.3g}: distance to the nearest minimum").given(
        hill, words
    )
    yield at_most(off["|H|"], 1e-3, "with |H| and damping 0.2: distance to the nearest minimum").given(hill, words)

    minima, saddles, maximum = himmelblau_points()
    centre = np.concatenate([minima, saddles, maximum])
    axis = np.linspace(-5, 5, 50)
    w = np.stack(np.meshgrid(axis, axis), -1).reshape(-1, 2)
    path = [np.array([[4.8, 4.4]])]
    for _ in range(40):
        gradient, hessian = himmelblau(w)
        w = w - np.linalg.solve(hessian + 1e-12 * np.eye(2), gradient[..., None])[..., 0]
    for _ in range(5):
        gradient, hessian = himmelblau(path[-1])
        path.append(path[-1] - np.linalg.solve(hessian, gradient[..., None])[..., 0])
    path = np.concatenate(path)
    label = optimisation.nearest_limits(w, centre, 1e-3)
    kind = np.select([label < 0, label < 4, label < 8], [np.nan, 0.0, 1.0], 2.0)
    attracted = float(np.mean(kind[np.isfinite(kind)] > 0))
    yield at_least(attracted, 0.1, "Himmelblau: share of starts that pure Newton takes to a saddle or the maximum")
    lines = {"Newton path": (path[:, 0], path[:, 1])}
    for t, (point, curvature) in enumerate(zip(path[:3], himmelblau(path[:3])[1], strict=True)):
        if np.linalg.eigvalsh(curvature)[0] > 0:
            move = path[t + 1] - point
            lines[f"model at step {t}"] = ellipse(curvature, float(move @ curvature @ move / 2), path[t + 1])
    yield figure.beside(
        f"On Himmelblau's function pure Newton takes {attracted:.0%} of the starts to a saddle or the maximum",
        figure.plane(
            "Path, with the contour of each model through its point", x="w₁", y="w₂",
            points={"iterates": path, "minima": minima, "saddles": saddles}, lines=lines,
            domain=((0.5, 5.5), (-0.5, 4.5)),
        ),
        figure.plane(
            "Limits: minima (orange), saddles (white), maximum (blue)", x="w₁", y="w₂",
            points={"minima": minima, "saddles": saddles, "maximum": maximum},
            regions=(axis, axis, np.nan_to_num(kind, nan=1.0).reshape(50, 50)),
            domain=((-5, 5), (-5, 5)),
        ),
    )  # fmt: skip


@method(
    "newton-cg",
    says=(
        "Newton's direction by conjugate gradients on Hessian-vector products, to the relative residual min(½, √‖g‖), "
        "stopped at negative curvature. A product costs about two gradients, and no Hessian is stored."
    ),
    formula=(
        r"\|H d + g\| \le \min(\tfrac12, \sqrt{\|g\|})\, \|g\|, \qquad "
        r"H v = \partial_\epsilon \nabla l(w + \epsilon v)"
    ),
    sources=("penn",),
    assumes=("l is twice differentiable",),
    shows=("optimisation.newton_cg", "optimisation.truncated_conjugate_gradient", "optimisation.TruncatedSolution"),
)
def newton_cg(
    key,
    dimension: Annotated[int, Range(2, 100)] = 30,
    condition: Annotated[float, Range(10.0, 1e4, log=True)] = 300.0,
    forcing: Annotated[float, Range(0.01, 0.9)] = 0.5,
):
    """Logistic regression with ridge on ten points a dimension; each product is counted as two gradients."""
    rng = data.generator(key)
    n = 10 * dimension
    y = rng.choice([-1.0, 1.0], n)
    x = rng.normal(size=(n, dimension)) * np.geomspace(0.3, 1.0, dimension) + 0.3 * y[:, None]
    penalty = float(np.linalg.norm(x, 2) ** 2 / (4 * n)) / (condition - 1)
    objective = optimisation.LogisticRidge(x, y, penalty)
    w, v = jnp.asarray(0.3 * rng.normal(size=dimension)), jnp.asarray(rng.normal(size=dimension))
    gradient = jax.jit(jax.grad(optimisation.LogisticRidge.__call__, argnums=1)).lower(objective, w).compile()
    product = jax.jit(optimisation.LogisticRidge.hessian_product).lower(objective, w, v).compile()
    s = 1 / (1 + np.exp(-x @ np.asarray(w)))
    dense = ((x.T * (s * (1 - s))) @ x / n + penalty * np.eye(dimension)) @ np.asarray(v)
    bent = np.asarray(product(objective, w, v))
    yield close(bent, dense, "Hessian product against the dense Hessian", atol=1e-10 * float(np.linalg.norm(dense)))
    h = 1e-5
    moved = [np.asarray(gradient(objective, w + s * h * v)) for s in (1, -1)]
    yield close(bent, (moved[0] - moved[1]) / (2 * h), "against a central difference", atol=1e-5)
    ratio = _cost(lambda: product(objective, w, v)) / _cost(lambda: gradient(objective, w))
    yield at_most(ratio, 5.0, "time of a product in gradients, least of 30 each")

    rule = optimisation.newton_cg(forcing, most=2 * dimension)
    step = eqx.filter_jit(_newton_cg_step)
    point, memory, spent, norms = jnp.zeros(dimension), rule.init(jnp.zeros(dimension)), [0], []
    for _ in range(15):
        point, memory, norm = step(rule.update, objective, point, memory)
        norms.append(float(norm))
        spent.append(2 * int(memory.products) + len(norms))
        if norm < 1e-12:
            break
    best = objective.constants().minimiser
    yield close(
        point, best, "limit against the minimiser of dense Newton", atol=1e-9 * (1 + float(np.linalg.norm(best)))
    )
    plain = plain_problems.logistic(x, y, penalty)
    budget = int(min(max(spent[-1], 200), 3000))
    path = plain.descent(np.zeros(dimension), 2 / (plain.smoothness + plain.convexity), budget)
    slow = np.linalg.norm(plain.gradient(path), axis=1)
    reached = int(np.argmax(slow <= 1e-9)) if np.any(slow <= 1e-9) else budget + 1
    fast = spent[int(np.argmax(np.array(norms) <= 1e-9))]
    cheaper = at_most(
        fast, reached, "gradients' worth of work to ‖g‖ ≤ 1e-9: Newton-CG, against descent with 2/(m + L)"
    )
    yield cheaper.given(condition >= 200, "κ ≥ 200")

    saddle = optimisation.truncated_conjugate_gradient(
        lambda u: jnp.array([1.0, -1.0]) * u, jnp.array([0.1, 1.0]), 0.01, 10
    )
    yield exactly(bool(saddle.negative), True, "negative curvature is noticed")
    yield at_most(float(saddle.direction @ jnp.array([0.1, 1.0])), 0.0, "and the direction still descends", strict=True)
    every = max(1, budget // 60)
    yield figure.curves(
        f"Newton-CG: ‖g‖ = {norms[-1]:.0e} after the work of {spent[len(norms) - 1]} gradients (κ = {condition:.3g})",
        x="gradients' worth of work (a Hessian product counts two)",
        y="‖g‖",
        points={
            "Newton-CG": (np.array(spent[: len(norms)]), np.array(norms)),
            "gradient descent, 2/(m + L)": (np.arange(budget + 1)[::every], slow[::every]),
        },
        log="y",
    )


def _newton_cg_step(update, objective, w, memory):
    gradient = objective.gradient(w)
    change, memory = update(gradient, memory, w, value_fn=objective)
    return w + change, memory, jnp.linalg.norm(gradient)


def _cost(call) -> float:
    """The least time of 30 calls."""
    least = np.inf
    for _ in range(30):
        start = time.perf_counter()
        jax.block_until_ready(call())
        least = min(least, time.perf_counter() - start)
    return least
