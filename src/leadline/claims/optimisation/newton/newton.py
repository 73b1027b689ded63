"""Newton's method: the model it minimises, what attracts it, and its inexact form by conjugate gradients."""

import time

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import expit

from leadline import data, optimisation
from leadline.claims.optimisation.gradient_descent.basins import himmelblau, himmelblau_points
from leadline.claims.optimisation.gradient_descent.line_search_zigzag import ellipse
from leadline.evidence import Int, Real, at_least, at_most, close, exactly, method
from leadline.optimisation.runs.basins_of_attraction import nearest_limits
from leadline.presentation import figure


def _iterates(rule, objective, start, steps):
    """w⁰ … w^T by the rule's own updates, one by one: small problems need no compiled loop."""
    points, state = [jnp.asarray(start, float)], rule.init(start)
    for _ in range(steps):
        w = points[-1]
        change, state = rule.update(objective.gradient(w), state, w, value_fn=objective)
        points.append(w + change)
    return np.array(points)


@method(sources=("sheet", "penn"), shows=("optimisation.modified_newton_step", "optimisation.armijo_step"))
def newton_method(
    key,
    dimension: Int(1, 20) = 3,
    condition: Real(1.0, 1e4, log=True) = 100.0,
    start: Real(-0.3, 0.45) = 0.2,
    damping: Real(1.1, 10.0) = 2.0,
):
    r"""Newton's method.

    Solve Hd = −g and move by d: this goes to the stationary point of the quadratic model, without a step size. Options
    are a damping τI, |H| in place of H, and an Armijo search. Pure Newton is drawn to saddles and maxima where H is
    not positive definite.

    $$w \leftarrow w - (H + \tau I)^{-1} g$$

    Assumes: H + τI is invertible.

    Check: One step is taken on a quadratic, four steps on a logistic regression in two bases, and the double well is
    run from `start`.
    """
    rng = data.generator(key)
    basis = np.linalg.qr(rng.normal(size=(dimension, dimension)))[0]
    matrix = (basis * np.geomspace(1.0, condition, dimension)) @ basis.T
    linear = rng.normal(size=dimension)
    bowl = optimisation.Quadratic(jnp.asarray((matrix + matrix.T) / 2), jnp.asarray(linear))
    pure = optimisation.newton()
    after = _iterates(pure, bowl, rng.normal(size=dimension), 1)[1]
    yield close(after, np.linalg.solve(matrix, linear), "one step on a quadratic, against its minimiser", atol=1e-10)
    x, y = rng.normal(size=(20 * dimension, dimension)), rng.choice([-1.0, 1.0], 20 * dimension)
    change = np.eye(dimension) + 0.3 * rng.normal(size=(dimension, dimension)) / np.sqrt(dimension)
    first = 0.3 * rng.normal(size=dimension)
    here = _iterates(pure, optimisation.LogisticRidge(x, y), first, 4)
    there = _iterates(pure, optimisation.LogisticRidge(x @ change, y), np.linalg.solve(change, first), 4)
    yield close(there @ change.T, here, "iterates for l(Au) under w = Au, against those for l", atol=1e-8)
    left, top, right = np.sort(np.roots([1.0, 0.0, -1.0, 0.1]).real)  # of l′ for the tilted double well
    begin = np.full(dimension, start)  # one well for each coordinate
    end = _iterates(pure, optimisation.DoubleWell(0.1), begin, 60)[-1, 0]
    yield close(end, top, "double well from the hilltop: the limit of pure Newton, against the maximum", atol=1e-6)
    for name, rule in (
        (f"damping {damping:.3g}", optimisation.newton(damping)),
        ("|H| and damping 0.2", optimisation.newton(0.2, curvature="absolute")),
    ):
        end = _iterates(rule, optimisation.DoubleWell(0.1), begin, 60)[-1, 0]
        off = at_most(min(abs(end - left), abs(end - right)), 1e-3, f"with {name}: distance to the nearest minimum")
        yield off.given(abs(start - top) > 1e-3, "not started on the maximum")
    minima, saddles, maximum = himmelblau_points()
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
    label = nearest_limits(w, np.concatenate([minima, saddles, maximum]), 1e-3)
    kind = np.select([label < 0, label < 4, label < 8], [np.nan, 0.0, 1.0], 2.0)
    attracted = np.mean(kind[np.isfinite(kind)] > 0)
    yield at_least(attracted, 0.1, "Himmelblau: share of starts that pure Newton takes to a saddle or the maximum")
    lines = {"Newton path": (path[:, 0], path[:, 1])}
    for t, (point, curvature) in enumerate(zip(path[:3], himmelblau(path[:3])[1], strict=True)):
        if np.linalg.eigvalsh(curvature)[0] > 0:
            move = path[t + 1] - point
            lines[f"model at step {t}"] = ellipse(curvature, move @ curvature @ move / 2, path[t + 1])
    marked, w1, w2 = {"minima": minima, "saddles": saddles}, "w₁", "w₂"
    seen, near = {"iterates": path} | marked, ((0.5, 5.5), (-0.5, 4.5))
    regions = axis, axis, np.nan_to_num(kind, nan=1.0).reshape(50, 50)
    limits = "Limits: minima (orange), saddles (white), maximum (blue)"
    yield figure.beside(
        f"On Himmelblau's function pure Newton takes {attracted:.0%} of the starts to a saddle or the maximum",
        figure.plane("Path and contours of its models", w1, w2, points=seen, lines=lines, domain=near),
        figure.plane(limits, w1, w2, points=marked | {"maximum": maximum}, regions=regions, domain=((-5, 5), (-5, 5))),
    )


@method(sources=("penn",))
def newton_cg(
    key, dimension: Int(2, 100) = 30, condition: Real(10.0, 1e4, log=True) = 300.0, forcing: Real(0.01, 0.9) = 0.5
):
    r"""Newton-CG (truncated Newton).

    Newton's direction is found by conjugate gradients on Hessian-vector products, to the relative residual min(½,
    √‖g‖), stopped at negative curvature. A product costs about two gradients, and no Hessian is stored.

    $$\|H d + g\| \le \min(\tfrac12, \sqrt{\|g\|})\, \|g\|, \qquad H v = \partial_\epsilon \nabla l(w + \epsilon v)$$

    Assumes: l is twice differentiable.

    Check: Logistic regression with ridge has ten points per dimension; each product is counted as two gradients.
    """
    rng = data.generator(key)
    n = 10 * dimension
    y = rng.choice([-1.0, 1.0], n)
    x = rng.normal(size=(n, dimension)) * np.geomspace(0.3, 1.0, dimension) + 0.3 * y[:, None]
    penalty = float(np.linalg.norm(x, 2) ** 2 / (4 * n)) / (condition - 1)
    objective = optimisation.LogisticRidge(x, y, penalty)
    w, v = jnp.asarray(0.3 * rng.normal(size=dimension)), jnp.asarray(rng.normal(size=dimension))
    gradient = jax.jit(jax.grad(optimisation.LogisticRidge.__call__, argnums=1)).lower(objective, w).compile()
    product = jax.jit(optimisation.LogisticRidge.hessian_product).lower(objective, w, v).compile()
    s = expit(x @ w)
    dense = ((x.T * (s * (1 - s))) @ x / n + penalty * np.eye(dimension)) @ v
    bent = product(objective, w, v)
    yield close(bent, dense, "Hessian product, against the dense Hessian", atol=1e-10 * float(np.linalg.norm(dense)))
    central = (gradient(objective, w + 1e-5 * v) - gradient(objective, w - 1e-5 * v)) / 2e-5
    yield close(bent, central, "Hessian product, against a central difference of gradients", atol=1e-5)
    ratio = _cost(lambda: product(objective, w, v)) / _cost(lambda: gradient(objective, w))
    yield at_most(ratio, 5.0, "time of a product in gradients, least of 30 each")
    rule = optimisation.newton_cg(forcing, max_steps=2 * dimension)
    step = eqx.filter_jit(_newton_cg_step)
    point, state, spent, norms = jnp.zeros(dimension), rule.init(jnp.zeros(dimension)), [0], []
    for _ in range(15):
        point, state, norm = step(rule.update, objective, point, state)
        norms.append(float(norm))
        spent.append(2 * int(state.products) + len(norms))
        if norm < 1e-12:
            break
    best = objective.constants().minimiser
    tolerance = 1e-9 * (1 + float(np.linalg.norm(best)))
    yield close(point, best, "limit, against the minimiser of dense Newton", atol=tolerance)
    budget = min(max(spent[-1], 200), 3000)
    smoothness, convexity, *_ = objective.constants()
    path = optimisation.gradient_path(objective.gradient, np.zeros(dimension), 2 / (smoothness + convexity), budget)
    slow = np.linalg.norm(objective.gradient(path), axis=1)
    reached = np.argmax(slow <= 1e-9) if np.any(slow <= 1e-9) else budget + 1
    fast = spent[np.argmax(np.array(norms) <= 1e-9)]
    cheaper = at_most(fast, reached, "work to ‖g‖ ≤ 1e-9 in gradients: Newton-CG, against descent with 2/(m + L)")
    yield cheaper.given(condition >= 200, "κ ≥ 200")
    slope = jnp.array([0.1, 1.0])
    saddle = optimisation.truncated_conjugate_gradient(lambda u: jnp.array([1.0, -1.0]) * u, slope, 0.01, 10)
    yield exactly(bool(saddle.negative), True, "conjugate gradients at a saddle notice negative curvature")
    yield at_most(saddle.direction @ slope, 0.0, "slope along the direction found at a saddle", strict=True)
    points = {"Newton-CG": (spent[: len(norms)], norms), "gradient descent, 2/(m + L)": (np.arange(budget + 1), slow)}
    work = spent[len(norms) - 1]
    title = f"Newton-CG: ‖g‖ = {norms[-1]:.0e} after the work of {work} gradients (κ = {condition:.3g})"
    yield figure.curves(title, "gradients' worth of work (a product counts two)", "‖g‖", points=points, log="y")


def _newton_cg_step(update, objective, w, state):
    gradient = objective.gradient(w)
    change, state = update(gradient, state, w, value_fn=objective)
    return w + change, state, jnp.linalg.norm(gradient)


def _cost(call) -> float:
    """The least time of 30 calls."""
    least = np.inf
    for _ in range(30):
        start = time.perf_counter()
        jax.block_until_ready(call())
        least = min(least, time.perf_counter() - start)
    return least
