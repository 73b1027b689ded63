"""Methods of descent: by gradients, without gradients, and with an exact line search."""

from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, optimisation
from leadline.evidence import Range, at_least, at_most, close, exactly, figure, mean, method, slope


def _rotated(rng: np.random.Generator, dimension: int, condition: float) -> tuple[optimisation.Quadratic, np.ndarray]:
    """A quadratic with eigenvalues from 1 to κ and minimum at 0 in a random basis, and the basis."""
    basis = np.linalg.qr(rng.normal(size=(dimension, dimension)))[0]
    return optimisation.spread_quadratic(dimension, condition, rotation=basis), basis


def _valley(low: float, high: float, side: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """log(½(low x² + high y²)) on a grid, for the ground of a picture of a path."""
    xs, ys = np.linspace(-side, side, 48), np.linspace(-side, side, 48)
    value = (low * xs[None] ** 2 + high * ys[:, None] ** 2) / 2
    return xs, ys, np.log(value + 0.02 * value.mean())


@method(
    "gradient-descent",
    says=(
        "Gradient descent steps against the gradient. On a quadratic the error after t steps is (I − ηH)ᵗ times the "
        "error at the start."
    ),
    formula=r"w^{t+1} = w^t - \eta\, \nabla l(w^t), \qquad w^t - w^* = (I - \eta H)^t (w^0 - w^*)",
    sources=("eth", "sheet", "penn"),
    assumes=("l is differentiable", "for the second formula: l is quadratic"),
    shows=("optimisation.descend", "optimisation.Descent", "optimisation.tunable", "optimisation.measure_convergence"),
)
def gradient_descent(
    key,
    dimension: Annotated[int, Range(2, 60)] = 10,
    condition: Annotated[float, Range(1.5, 1e4, log=True)] = 30.0,
    relative_step: Annotated[float, Range(0.05, 1.95)] = 1.8,
    steps: Annotated[int, Range(10, 300)] = 100,
):
    """`relative_step` is η times the largest eigenvalue. The run is Optax's sgd in one compiled scan."""
    rng = data.generator(key)
    objective, basis = _rotated(rng, dimension, condition)
    values = np.geomspace(1.0, condition, dimension)
    start, eta = rng.normal(size=dimension), relative_step / condition
    rule = optimisation.tunable(optax.sgd, learning_rate=eta)
    run = optimisation.descend(objective, rule, jnp.asarray(start), steps)
    points, gradients = np.asarray(run.points), np.asarray(run.gradients)
    powers = (1 - eta * values) ** np.arange(steps + 1)[:, None]
    exact = (powers * (start @ basis)) @ basis.T
    size = np.linalg.norm(start)
    yield close(points, exact, "wᵗ against (I − ηH)ᵗ w⁰", atol=1e-10 * size)
    yield close(
        points[1:], points[:-1] - eta * gradients[:-1], "each step of optax.sgd against w − ηg", atol=1e-14 * size
    )
    found = optimisation.measure_convergence(run, minimiser=np.zeros(dimension), minimum=0.0)
    yield close(found.step, eta * found.gradient_norm[:-1], "recorded step lengths against η‖g‖", rtol=1e-9, atol=1e-14)
    yield close(found.decrease.sum(), found.gap[0] - found.gap[-1], "sum of recorded decreases", rtol=1e-9)
    plane = points @ basis[:, [0, -1]]
    side = 1.15 * np.abs(plane).max()
    yield figure.beside(
        f"{steps} steps of {relative_step:g}/L: gap {found.gap[0]:.3g} to {found.gap[-1]:.2g}, κ = {condition:.4g}",
        figure.plane(
            "path in the flattest and the steepest direction", x="along λ_min", y="along λ_max",
            lines={"path": (plane[:, 0], plane[:, 1])}, points={"iterates": plane},
            regions=_valley(1.0, condition, side), domain=((-side, side), (-side, side)),
        ),
        figure.curves(
            "gap", x="step", y="l(w) − l*",
            lines={"from (I − ηH)ᵗ": (np.arange(steps + 1), ((exact @ basis) ** 2 @ values) / 2)},
            points={"measured": (np.arange(steps + 1), found.gap)}, log="y",
        ),
    )  # fmt: skip


def _sphere(w: np.ndarray) -> float:
    return float(w @ w) / 2


@method(
    "gradient-free-descent",
    says=(
        "Methods that only ask for values: random and coordinate search, Nelder-Mead, and descent along gradients "
        "estimated by differences, random signs (SPSA) or Gaussian directions (evolution). Their cost grows in "
        "proportion to the dimension."
    ),
    formula=r"\mathbb{E}\left[\frac{l(w + s u) - l(w - s u)}{2 s}\, u\right] = \nabla l(w) \ \text{ for quadratic } l, "
    r"\ u \sim N(0, I)",
    sources=("penn",),
    assumes=("unbiasedness: l is quadratic",),
    shows=("optimisation.descend_without_gradient", "optimisation.estimate_gradient", "optimisation.GradientFree"),
)
def gradient_free_descent(
    key,
    draws: Annotated[int, Range(1000, 50_000, log=True)] = 5000,
    largest: Annotated[int, Range(32, 128)] = 128,
    repeats: Annotated[int, Range(2, 8)] = 3,
    smoothness: Annotated[float, Range(1.5, 4.0)] = 2.0,
):
    """The sphere ½‖w‖² from distance 1, to gap 1e-3; the methods are told an L that is `smoothness` times too large."""
    rng = data.generator(key)
    values, w = np.geomspace(1.0, 10.0, 6), rng.normal(size=6)
    gradient = values * w
    for name in ("evolution", "spsa"):
        found = np.array(
            [
                optimisation.estimate_gradient(lambda v: float(values @ v**2) / 2, w, name, rng, spread=0.1)
                for _ in range(draws)
            ]
        )
        along = found @ gradient / np.linalg.norm(gradient)
        yield mean(along, np.linalg.norm(gradient), f"{name} estimate along the gradient, {draws} draws")
        across = np.roll(gradient, 1) - gradient * (gradient @ np.roll(gradient, 1)) / (gradient @ gradient)
        yield mean(found @ across / np.linalg.norm(across), 0.0, f"{name} estimate across the gradient")

    dimensions = np.unique(np.geomspace(2, largest, 7).astype(int))
    needed = {
        name: [] for name in ("differences", "spsa", "evolution", "random search", "coordinate search", "nelder-mead")
    }
    reached = []
    for p in dimensions:
        for name, counts in needed.items():
            if name == "nelder-mead" and p > 16:
                continue
            several = 1 if name in ("differences", "nelder-mead") else repeats
            total = 0
            for _ in range(several):
                direction = rng.normal(size=p)
                end = optimisation.descend_without_gradient(
                    _sphere, direction / np.linalg.norm(direction), name, goal=1e-3, smoothness=smoothness,
                    key=jax.random.fold_in(key, int(rng.integers(2**31))),
                )  # fmt: skip
                reached.append(end.value <= 1e-3)
                total += end.evaluations
            counts.append(total / several)
    yield exactly(np.mean(reached), 1.0, f"share of {len(reached)} runs that reach gap 1e-3")
    for name in ("differences", "spsa", "evolution"):
        yield slope(dimensions, needed[name], 1.0, f"evaluations against dimension, {name}", within=0.15)
    yield figure.curves(
        f"Evaluations to gap 1e-3 grow in proportion to the dimension: SPSA asks {needed['spsa'][-1]:.0f} "
        f"values at p = {dimensions[-1]}",
        x="dimension p", y="evaluations",
        lines={"proportional to p": (dimensions, needed["spsa"][-1] / dimensions[-1] * dimensions)},
        points={name: (dimensions[: len(counts)], counts) for name, counts in needed.items()}, log="xy",
    )  # fmt: skip


@method(
    "exact-line-search",
    says=(
        "The exact line search takes the step that minimises the loss along a direction; on a quadratic it has "
        "a closed form; successive gradients are orthogonal. Armijo's rule halves a step until it is short enough."
    ),
    formula=r"\eta_t = \operatorname{argmin}_{\eta \ge 0} l(w + \eta d) = -\frac{\langle g, d \rangle}{d^\top H d}, "
    r"\qquad \langle g_{t+1}, d_t \rangle = 0",
    sources=("penn",),
    assumes=("the closed form: l is quadratic", "d is a direction of descent"),
    shows=("optimisation.exact_step", "optimisation.scale_by_exact_linesearch", "optimisation.backtracking_descent"),
)
def exact_line_search(
    key,
    dimension: Annotated[int, Range(2, 40)] = 5,
    condition: Annotated[float, Range(2.0, 1000.0, log=True)] = 20.0,
    steps: Annotated[int, Range(5, 40)] = 20,
    decrease: Annotated[float, Range(1e-4, 0.4, log=True)] = 1e-4,
):
    """`decrease` is Armijo's constant. Directions: the gradient's, Newton's, and one with momentum."""
    from scipy.optimize import minimize_scalar

    rng = data.generator(key)
    objective, _ = _rotated(rng, dimension, condition)
    hessian = np.asarray(objective.matrix)
    start = jnp.asarray(rng.normal(size=dimension))
    run = optimisation.descend(
        objective, optax.chain(optax.sgd(1.0), optimisation.scale_by_exact_linesearch()), start, steps
    )
    points, g = np.asarray(run.points), np.asarray(run.gradients)
    large = np.linalg.norm(g, axis=1) > 1e-8 * np.linalg.norm(g[0])
    moved = large[1:] & large[:-1]
    length = np.linalg.norm(np.diff(points, axis=0), axis=1) / np.linalg.norm(g[:-1], axis=1)
    closed = np.sum(g[:-1] ** 2, axis=1) / np.sum(g[:-1] @ hessian * g[:-1], axis=1)
    yield close(length[moved], closed[moved], "step of the rule against gᵀg/gᵀHg", rtol=1e-9)
    cosine = np.sum(g[1:] * g[:-1], axis=1) / np.linalg.norm(g[1:], axis=1) / np.linalg.norm(g[:-1], axis=1)
    yield at_most(np.abs(cosine[moved]), 1e-6, "|cos| of successive gradients")

    w, slope_here = np.asarray(start), np.asarray(objective.matrix) @ np.asarray(start)
    directions = {"gradient": -slope_here, "Newton": -w, "momentum": -slope_here - 0.5 * condition * w}
    for name, d in directions.items():
        exact = -(slope_here @ d) / (d @ hessian @ d)
        yield close(
            optimisation.exact_step(objective, w, d), exact, f"exact step along the {name} direction", rtol=1e-9
        )
        brent = minimize_scalar(lambda eta, d=d: (w + eta * d) @ hessian @ (w + eta * d) / 2, bracket=(0.0, 2 * exact))
        yield close(
            brent.x, exact, f"Brent's minimum of values along the {name} direction", rtol=1e-6, atol=1e-6 * exact
        )

    armijo = optimisation.descend(objective, optimisation.backtracking_descent(decrease=decrease), start, steps)
    points, values, g = (np.asarray(part) for part in armijo)
    moves = np.diff(points, axis=0)
    promised = decrease * np.sum(g[:-1] * moves, axis=1)
    yield at_most(
        values[1:], values[:-1] + promised, "Armijo's condition at the end of each search", atol=1e-12 * values[0]
    )
    sizes = np.linalg.norm(moves, axis=1) / np.maximum(np.linalg.norm(g[:-1], axis=1), 1e-300)
    yield at_least(
        sizes[large[:-1]], min(1.0, (1 - decrease) / condition) * (1 - 1e-6), "Armijo steps against (1 − c)/L"
    )

    zigzag = [np.array([condition, 1.0])]
    for _ in range(20):
        gradient = np.array([1.0, condition]) * zigzag[-1]
        zigzag.append(zigzag[-1] - gradient @ gradient / (np.array([1.0, condition]) @ gradient**2) * gradient)
    path = np.array(zigzag) / condition
    side = 1.1
    yield figure.plane(
        f"Exact steps zigzag at right angles: at κ = {condition:.3g} each keeps "
        f"{(condition - 1) / (condition + 1):.3g} of the distance",
        x="along λ_min", y="along λ_max", lines={"path": (path[:, 0], path[:, 1])}, points={"iterates": path},
        regions=_valley(1.0, condition, side), domain=((-0.2, side), (-0.5, 0.5)),
    )  # fmt: skip
