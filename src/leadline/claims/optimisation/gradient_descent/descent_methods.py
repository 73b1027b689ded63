"""Methods of descent: by gradients, without gradients, and with an exact line search."""

import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, optimisation
from leadline.evidence import Figure, Int, Real, at_least, at_most, close, mean, method, slope
from leadline.presentation import figure


def _rotated(rng: np.random.Generator, dimension: int, condition: float) -> tuple[optimisation.Quadratic, np.ndarray]:
    """A quadratic with eigenvalues from 1 to κ and minimum at 0 in a random basis, and the basis."""
    basis = np.linalg.qr(rng.normal(size=(dimension, dimension)))[0]
    return optimisation.spread_quadratic(dimension, condition, rotation=basis), basis


def _path_in_valley(title: str, path: np.ndarray, condition: float, side: float, domain) -> Figure:
    """A path over the contours of ½(x² + κy²)."""
    grid = np.linspace(-side, side, 48)
    value = (grid[None] ** 2 + condition * grid[:, None] ** 2) / 2
    regions, lines = (grid, grid, np.log(value + 0.02 * value.mean())), {"path": (path[:, 0], path[:, 1])}
    options = {"points": {"iterates": path}, "regions": regions, "domain": domain}
    return figure.plane(title, "along λ_min", "along λ_max", lines=lines, **options)


@method(sources=("eth", "sheet", "penn"))
def gradient_descent(
    key,
    dimension: Int(2, 60) = 10,
    condition: Real(1.5, 1e4, log=True) = 30.0,
    relative_step: Real(0.05, 1.95) = 1.8,
    num_steps: Int(10, 300) = 100,
):
    r"""Gradient descent.

    Gradient descent steps against the gradient. On a quadratic the error after t steps is (I − ηH)ᵗ times the error at
    the start.

    $$w^{t+1} = w^t - \eta\, \nabla l(w^t), \qquad w^t - w^* = (I - \eta H)^t (w^0 - w^*)$$

    Assumes: l is differentiable; for the second formula: l is quadratic.

    Check: The relative step is η times the largest eigenvalue. The run is Optax's sgd in one compiled scan.
    """
    rng = data.generator(key)
    objective, basis = _rotated(rng, dimension, condition)
    values = np.geomspace(1.0, condition, dimension)
    start, eta = rng.normal(size=dimension), relative_step / condition
    rule = optimisation.tunable(optax.sgd, learning_rate=eta)
    run = optimisation.descend(objective, rule, jnp.asarray(start), num_steps)
    points, gradients, t = np.asarray(run.points), np.asarray(run.gradients), np.arange(num_steps + 1)
    exact = (1 - eta * values) ** t[:, None] * (start @ basis)
    size = np.linalg.norm(start)
    yield close(points, exact @ basis.T, "wᵗ against (I − ηH)ᵗ w⁰", atol=1e-10 * size)
    moved = points[:-1] - eta * gradients[:-1]
    yield close(points[1:], moved, "each step of optax.sgd against w − ηg", atol=1e-14 * size)
    found = optimisation.measure_convergence(run, minimiser=np.zeros(dimension), minimum=0.0)
    yield close(found.step, eta * found.gradient_norm[:-1], "recorded step lengths against η‖g‖", rtol=1e-9, atol=1e-14)
    fall = found.gap[0] - found.gap[-1]
    yield close(found.decrease.sum(), fall, "sum of recorded decreases against the fall of the gap", rtol=1e-9)
    plane = points @ basis[:, [0, -1]]
    side = 1.15 * np.abs(plane).max()
    lines, points = {"from (I − ηH)ᵗ": (t, exact**2 @ values / 2)}, {"measured": (t, found.gap)}
    title = (
        f"{num_steps} steps of {relative_step:g}/L: gap {found.gap[0]:.3g} to {found.gap[-1]:.2g}, κ = {condition:.4g}"
    )
    name, domain = "path in the flattest and the steepest direction", ((-side, side), (-side, side))
    yield figure.beside(
        title,
        _path_in_valley(name, plane, condition, side, domain),
        figure.curves("gap", "step", "l(w) − l*", lines=lines, points=points, log="y"),
    )


@method(sources=("penn",))
def gradient_free_descent(
    key,
    draws: Int(1000, 50_000, log=True) = 5000,
    largest: Int(32, 128) = 128,
    repeats: Int(2, 8) = 3,
    smoothness: Real(1.5, 4.0) = 2.0,
):
    r"""Gradient-free optimisation.

    Methods that ask only for values of the loss: random and coordinate search, Nelder–Mead, and descent along
    gradients estimated by differences, random signs (SPSA) or Gaussian directions (evolution strategies). Their cost
    grows in proportion to the dimension.

    $$\mathbb{E}\left[\frac{l(w + s u) - l(w - s u)}{2 s}\, u\right] = \nabla l(w) \ \text{ for quadratic } l, \ u \sim
    N(0, I)$$

    Assumes: for unbiasedness: l is quadratic.

    Check: The methods minimise the sphere ½‖w‖² from distance 1 to a gap of 10⁻³; they are told an L that is
    `smoothness` times too large.
    """
    rng = data.generator(key)
    values, w = np.geomspace(1.0, 10.0, 6), rng.normal(size=6)
    gradient = values * w
    across = np.roll(gradient, 1) - gradient * (gradient @ np.roll(gradient, 1)) / (gradient @ gradient)

    def quadratic(v: np.ndarray) -> float:
        return float(values @ v**2) / 2

    for name in ("evolution", "spsa"):
        estimates = [optimisation.estimate_gradient(quadratic, w, name, rng, spread=0.1) for _ in range(draws)]
        along = estimates @ gradient / np.linalg.norm(gradient)
        yield mean(along, np.linalg.norm(gradient), f"{name} estimate along the gradient, {draws} draws")
        yield mean(estimates @ across / np.linalg.norm(across), 0.0, f"{name} estimate across the gradient")
    dimensions = np.unique(np.geomspace(2, largest, 7).astype(int))
    names = ("differences", "spsa", "evolution", "random search", "coordinate search", "nelder-mead")
    needed, gaps = {name: [] for name in names}, []
    for p in dimensions:
        for name, counts in needed.items():
            if name == "nelder-mead" and p > 16:
                continue
            several = 1 if name in ("differences", "nelder-mead") else repeats
            total = 0
            for _ in range(several):
                start = rng.normal(size=p)
                start /= np.linalg.norm(start)
                options = {"smoothness": smoothness, "key": jax.random.fold_in(key, int(rng.integers(2**31)))}
                end = optimisation.descend_without_gradient(_sphere, start, name, goal=1e-3, **options)
                gaps.append(end.value)
                total += end.evaluations
            counts.append(total / several)
    yield at_most(gaps, 1e-3, f"final gap of {len(gaps)} runs against the goal")
    for name in ("differences", "spsa", "evolution"):
        yield slope(dimensions, needed[name], 1.0, f"evaluations against dimension, {name}", within=0.15)
    last = needed["spsa"][-1]
    title = f"Evaluations to gap 1e-3 grow like the dimension: SPSA asks {last:.0f} values at p = {dimensions[-1]}"
    lines = {"proportional to p": (dimensions, last / dimensions[-1] * dimensions)}
    points = {name: (dimensions[: len(counts)], counts) for name, counts in needed.items()}
    yield figure.curves(title, "dimension p", "evaluations", lines=lines, points=points, log="xy")


def _sphere(w: np.ndarray) -> float:
    return float(w @ w) / 2


@method(sources=("penn",))
def exact_line_search(
    key,
    dimension: Int(2, 40) = 5,
    condition: Real(2.0, 1000.0, log=True) = 20.0,
    num_steps: Int(5, 40) = 20,
    decrease: Real(1e-4, 0.4, log=True) = 1e-4,
):
    r"""Exact line search and Armijo's rule.

    Exact line search takes the step that minimises the loss along a direction; on a quadratic it has a closed form,
    and the new gradient is orthogonal to the last direction, so successive gradients of steepest descent are
    orthogonal. Armijo's rule halves a step until it is short enough.

    $$\eta_t = \operatorname{argmin}_{\eta \ge 0} l(w + \eta d) = -\frac{\langle g, d \rangle}{d^\top H d}, \qquad
    \langle g_{t+1}, d_t \rangle = 0$$

    Assumes: for the closed form: l is quadratic; d is a descent direction.

    Check: The parameter `decrease` is Armijo's constant. The directions are that of the gradient, Newton's, and one
    with momentum.
    """
    from scipy.optimize import minimize_scalar

    rng = data.generator(key)
    objective, _ = _rotated(rng, dimension, condition)
    hessian = np.asarray(objective.matrix)
    start = jnp.asarray(rng.normal(size=dimension))
    rule = optax.chain(optax.sgd(1.0), optimisation.scale_by_exact_linesearch())
    run = optimisation.descend(objective, rule, start, num_steps)
    points, g = np.asarray(run.points), np.asarray(run.gradients)
    norms = np.linalg.norm(g, axis=1)
    large = norms > 1e-8 * norms[0]
    moved = large[1:] & large[:-1]
    length = np.linalg.norm(np.diff(points, axis=0), axis=1) / norms[:-1]
    closed = norms[:-1] ** 2 / np.sum(g[:-1] @ hessian * g[:-1], axis=1)
    yield close(length[moved], closed[moved], "step of the rule against gᵀg/gᵀHg", rtol=1e-9)
    cosine = np.sum(g[1:] * g[:-1], axis=1) / norms[1:] / norms[:-1]
    yield at_most(np.abs(cosine[moved]), 1e-6, "|cos| of successive gradients")
    w, here = np.asarray(start), hessian @ np.asarray(start)
    for name, d in {"gradient": -here, "Newton": -w, "momentum": -here - 0.5 * condition * w}.items():
        exact, found = -(here @ d) / (d @ hessian @ d), optimisation.exact_step(objective, w, d)
        yield close(found, exact, f"exact step along the {name} direction", rtol=1e-9)
        brent = minimize_scalar(lambda eta, d=d: (w + eta * d) @ hessian @ (w + eta * d) / 2, bracket=(0.0, 2 * exact))
        what = f"Brent's minimum of values along the {name} direction"
        yield close(brent.x, exact, what, rtol=1e-6, atol=1e-6 * exact)
    armijo = optimisation.descend(objective, optimisation.backtracking_descent(decrease=decrease), start, num_steps)
    points, values, g = map(np.asarray, armijo)
    moves = np.diff(points, axis=0)
    most = values[:-1] + decrease * np.sum(g[:-1] * moves, axis=1)
    yield at_most(values[1:], most, "Armijo's condition at the end of each search", atol=1e-12 * values[0])
    sizes = np.linalg.norm(moves, axis=1) / np.maximum(np.linalg.norm(g[:-1], axis=1), 1e-300)
    least = min(1.0, (1 - decrease) / condition) * (1 - 1e-6)
    yield at_least(sizes[large[:-1]], least, "Armijo steps against (1 − c)/L")
    path = optimisation.steepest_path(np.diag([1.0, condition]), np.array([condition, 1.0]), 20) / condition
    kept = (condition - 1) / (condition + 1)
    title = f"Exact steps zigzag at right angles: at κ = {condition:.3g} each keeps {kept:.3g} of the distance"
    yield _path_in_valley(title, path, condition, 1.1, ((-0.2, 1.1), (-0.5, 0.5)))
