"""Instruments on a run: is a step one of descent, how far has the run come, and what class of convergence is it."""

from typing import Annotated

import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, optimisation
from leadline.evidence import Range, at_most, close, exactly, figure, instrument, printed


@instrument(
    "descent-direction",
    says=(
        "A step d with ⟨g, d⟩ < 0 lowers the loss if it is short enough, and one with ⟨g, d⟩ > 0 raises it. Steps with "
        "momentum, of Adam and of Newton's method near a maximum are not always steps of descent."
    ),
    formula=r"\langle \nabla l(w), d \rangle < 0 \Rightarrow l(w + \epsilon d) < l(w) \text{ for small } \epsilon > 0",
    sources=("penn",),
    assumes=("l is differentiable", "∇l ≠ 0"),
    shows=("optimisation.directions_of_steps", "optimisation.StepDirections"),
)
def descent_direction(
    key,
    cases: Annotated[int, Range(100, 5000, log=True)] = 1000,
    momentum: Annotated[float, Range(0.85, 0.98)] = 0.95,
    steps: Annotated[int, Range(60, 200)] = 120,
):
    """Himmelblau's function: four minima, and near (−0.27, −0.92) a maximum where Newton's step goes up."""
    rng = data.generator(key)
    objective = optimisation.Himmelblau()
    points, directions = rng.uniform(-5, 5, (cases, 2)), rng.normal(size=(cases, 2))
    found = optimisation.directions_of_steps(objective, points, directions, epsilon=1e-6)
    x, y = points.T
    a, b = x**2 + y - 11, x + y**2 - 7
    gradient = np.stack([4 * x * a + 2 * b, 2 * a + 4 * y * b], axis=1)
    norms, lengths = np.linalg.norm(gradient, axis=1), np.linalg.norm(directions, axis=1)
    h = 1e-4 * directions / lengths[:, None]
    central = (_himmelblau(points + h) - _himmelblau(points - h)) / 2e-4 * lengths
    steep, unit = norms > 10, norms * lengths
    yield close((found.slope / unit)[steep], (central / unit)[steep], "slope against a central difference", atol=1e-6)
    clear = (np.abs(found.cosine) > 1e-3) & steep
    yield exactly(
        np.sign(-found.change[clear]),
        np.sign(found.cosine[clear]),
        "sign of the decrease at 1e-6 against that of the cosine",
    )

    maximum = np.array([-0.270845, -0.923039])
    near = maximum + 0.05 * rng.normal(size=(20, 2))
    hessians = np.stack([np.asarray(_himmelblau_hessian(*point)) for point in near])
    u, v = near.T
    a, b = u**2 + v - 11, u + v**2 - 7
    slopes = np.stack([4 * u * a + 2 * b, 2 * a + 4 * v * b], axis=1)
    newton = -np.linalg.solve(hessians, slopes[:, :, None])[:, :, 0]
    yield exactly(
        optimisation.directions_of_steps(objective, near, newton).descends.sum(),
        0,
        "descending Newton steps at a maximum",
    )

    start = jnp.asarray(rng.uniform(-1, 1, 2))
    rules = {
        f"momentum {momentum:g}": optimisation.tunable(optax.sgd, learning_rate=0.002, momentum=momentum),
        "Adam": optimisation.tunable(optax.adam, learning_rate=0.3),
        "gradient descent": optimisation.tunable(optax.sgd, learning_rate=0.002),
    }
    cosines, uphill = {}, {}
    for name, rule in rules.items():
        run = optimisation.descend(objective, rule, start, steps)
        path = np.asarray(run.points)
        seen = optimisation.directions_of_steps(objective, path[:-1], np.diff(path, axis=0))
        moving = np.linalg.norm(np.asarray(run.gradients)[:-1], axis=1) > 1e-6
        cosines[name] = np.where(moving, seen.cosine, np.nan)
        uphill[name] = int(np.sum(moving & (seen.cosine < -1e-6)))
    yield exactly(
        [uphill[name] > 0 for name in rules], [True, True, False], "has steps uphill: momentum, Adam, descent"
    )
    yield figure.curves(
        f"Of {steps} steps {uphill[f'momentum {momentum:g}']} with momentum and {uphill['Adam']} of Adam point uphill",
        x="step", y="cosine of the step with −∇l",
        points={name: (np.arange(steps), cosine) for name, cosine in cosines.items()},
        rules={"uphill below": ("y", 0.0)},
    )  # fmt: skip


def _himmelblau(w: np.ndarray) -> np.ndarray:
    x, y = w.T
    return (x**2 + y - 11) ** 2 + (x + y**2 - 7) ** 2


def _himmelblau_hessian(x: float, y: float) -> list[list[float]]:
    return [[12 * x**2 + 4 * y - 42, 4 * (x + y)], [4 * (x + y), 4 * x + 12 * y**2 - 26]]


def _run(path: np.ndarray, values: np.ndarray, gradients: np.ndarray) -> optimisation.Descent:
    return optimisation.Descent(jnp.asarray(path), jnp.asarray(values), jnp.asarray(gradients))


@instrument(
    "convergence-measures",
    says=(
        "Gap, distance to the minimiser and gradient norm measure convergence; with strong convexity they bound each "
        "other, at a flat minimum they decay at different rates. A small gradient alone can be a saddle, and its size "
        "depends on the scale of the loss."
    ),
    formula=r"\tfrac m2 \|w - w^*\|^2 \le l(w) - l^* \le \tfrac L2 \|w - w^*\|^2, \qquad \|\nabla l(w)\| \le \epsilon",
    sources=("penn", "sheet"),
    assumes=("the sandwich: l is m-strongly convex and L-smooth",),
    shows=(
        "optimisation.measure_convergence",
        "optimisation.ConvergenceMeasures",
        "optimisation.classify_stationary",
        "optimisation.StationaryPoint",
    ),
)
def convergence_measures(
    key,
    dimension: Annotated[int, Range(2, 40)] = 8,
    condition: Annotated[float, Range(2.0, 1000.0, log=True)] = 50.0,
    epsilon: Annotated[float, Range(1e-4, 1e-2, log=True)] = 1e-3,
    scale: Annotated[float, Range(0.01, 100.0, log=True)] = 10.0,
):
    """A quadratic; w⁴/4 by steps of 0.1; the saddle of ½(w₁² − w₂²) approached along the stable side."""
    rng = data.generator(key)
    values = np.geomspace(1.0, condition, dimension)
    factors = (1 - values / condition) ** np.arange(301)[:, None]
    path = factors * rng.normal(size=dimension)
    run = _run(path, path**2 @ values / 2, path * values)
    found = optimisation.measure_convergence(run, minimiser=np.zeros(dimension), minimum=0.0)
    yield at_most(found.distance**2 / 2, found.gap, "(m/2)‖w − w*‖² against the gap, every iterate", rtol=1e-9)
    yield at_most(found.gap, condition * found.distance**2 / 2, "gap against (L/2)‖w − w*‖², every iterate", rtol=1e-9)
    hit = found.hitting_time("gradient_norm", epsilon)
    first = int(np.argmax(found.gradient_norm <= epsilon)) if (found.gradient_norm <= epsilon).any() else None
    yield exactly(hit is None, first is None, "whether ε-stationarity is reached")
    scaled = optimisation.measure_convergence(_run(path, scale * run.values, scale * run.gradients), minimum=0.0)
    yield close(
        scaled.gradient_norm, scale * found.gradient_norm, f"gradient norms of {scale:g} l: another ε, the same points",
        rtol=1e-9,
    )  # fmt: skip

    flat = [1.0]
    for _ in range(4000):
        flat.append(flat[-1] - 0.1 * flat[-1] ** 3)
    w = np.array(flat)
    quartic = optimisation.measure_convergence(
        _run(w[:, None], w**4 / 4, (w**3)[:, None]), minimiser=np.zeros(1), minimum=0.0
    )
    for name, power in (("gap", 2.0), ("distance", 0.5), ("gradient_norm", 1.5)):
        fitted = optimisation.convergence_order(getattr(quartic, name))
        yield close(fitted.fitted.value, power, f"exponent of the {name} at the flat minimum of w⁴", rtol=0.02)

    saddle = optimisation.Quadratic(jnp.diag(jnp.array([1.0, -1.0])), jnp.zeros(2))
    point = np.array([0.5**20, 0.0])  # twenty steps of 1/2 from (1, 0)
    kinds = [
        optimisation.classify_stationary(objective, w, epsilon).kind
        for objective, w in (
            (saddle, point),
            (saddle, np.array([1.0, 0.0])),
            (optimisation.Quadratic(jnp.diag(jnp.array([1.0, 2.0])), jnp.zeros(2)), point),
            (optimisation.Quadratic(-jnp.diag(jnp.array([1.0, 2.0])), jnp.zeros(2)), point),
        )
    ]
    yield exactly(
        kinds, ["saddle", "moving", "minimum", "maximum"], "ε-stationary points by the signs of their curvature"
    )
    times = np.arange(301)
    reached = {name: found.hitting_time(name, epsilon) for name in ("gap", "distance", "gradient_norm")}
    shown = "; ".join(f"{name.replace('_', ' ')} {'never' if t is None else t}" for name, t in reached.items())
    yield figure.curves(
        f"Three measures fall below {epsilon:.2g} at different steps: {shown}",
        x="gradient descent steps of 1/L", y="measure",
        points={
            "gap": (times[::4], found.gap[::4]),
            "distance": (times[::4], found.distance[::4]),
            "gradient norm": (times[::4], found.gradient_norm[::4]),
        },
        rules={f"{epsilon:.2g}": ("y", epsilon)}, log="y",
    )  # fmt: skip


@instrument(
    "convergence-order-classifier",
    says=(
        "The ratio of successive gaps tends to 1 (sublinear, a power of t), to a rate between 0 and 1 (linear, "
        "a straight line on a semilogarithmic plot) or to 0 (superlinear). The class, its exponent with an "
        "interval and the window used are read off a run."
    ),
    formula=r"\rho = \lim \frac{e_{t+1}}{e_t}: \quad \rho = 1 \text{ sublinear},\ 0 < \rho < 1 \text{ linear},\ "
    r"\rho = 0 \text{ superlinear};\quad q = \lim \frac{\log e_{t+1}}{\log e_t}",
    sources=("penn",),
    assumes=("gaps are positive: l* is known",),
    shows=("optimisation.convergence_order", "optimisation.ConvergenceOrder"),
)
def convergence_order_classifier(
    key,
    length: Annotated[int, Range(200, 3000, log=True)] = 400,
    noise: Annotated[float, Range(0.0, 0.01)] = 0.005,
    kept: Annotated[float, Range(0.5, 1.0)] = 0.6,
    rate: Annotated[float, Range(0.5, 0.95)] = 0.9,
):
    """Gaps with multiplicative noise, with a plateau at 1e-16 as rounding leaves it, and of descent on a quadratic."""
    rng = data.generator(key)
    t = np.arange(1.0, length + 1)
    plateau = 1e-16 * (1 + rng.random(length))
    cases = {
        "1/t": (1 / t, "sublinear", 1.0),
        "1/t²": (t**-2, "sublinear", 2.0),
        f"{rate:g}ᵗ": (rate**t, "linear", rate),
        "with a plateau": (rate**t + plateau, "linear", rate),
        "2^−2ᵗ": (2.0 ** -(2.0 ** np.arange(6)), "superlinear", 2.0),
    }
    found = {}
    for name, (gaps, _, _) in cases.items():
        moved = gaps * np.exp(noise * rng.normal(size=gaps.size))
        found[name] = optimisation.convergence_order(moved, first=1, kept=kept, key=key)
    yield exactly([f.name for f in found.values()], [c[1] for c in cases.values()], "class of five known sequences")
    yield close(
        [f.fitted.value for f in found.values()], [c[2] for c in cases.values()], "exponent, rate or order", rtol=0.02
    )
    noiseless = optimisation.convergence_order(rate**t, first=1, kept=kept, key=key).fitted
    yield close([noiseless.low, noiseless.high], rate, "interval of the rate without noise", rtol=1e-6)

    values, start = np.geomspace(1.0, 20.0, 6), rng.uniform(0.5, 1.5, 6)  # the slowest mode is there from the start
    descent = np.array([np.sum(values * ((1 - values / 20) ** k * start) ** 2) / 2 for k in range(length)])
    named = optimisation.convergence_order(descent, kept=kept, key=key)
    yield exactly(named.name, "linear", "class of gradient descent on a quadratic")
    yield close(named.fitted.value, (1 - 1 / 20) ** 2, "its rate against (1 − 1/κ)²", rtol=0.02)
    yield printed(
        exactly(named.name, "sublinear", "class of gradient descent on a quadratic"),
        "penn", "0 < ρ < 1 is sub-linear convergence and ρ = 1 linear",
    )  # fmt: skip
    first, last = found["1/t"].window
    window = t[first - 1 : last]
    lines = {
        f"t^−{found['1/t'].fitted.value:.3f}": (window, window ** -found["1/t"].fitted.value),
        f"{named.fitted.value:.4f}ᵗ": _fit(named, descent),
    }
    shown = slice(None, None, max(1, length // 80))
    points = {"1/t": (t[shown], 1 / t[shown]), "descent on a quadratic": (t[shown], np.maximum(descent[shown], 1e-18))}
    yield figure.beside(
        f"A linear rate is straight on the left ({named.name}, {named.fitted.value:.4f}), a power of t on the right "
        f"({found['1/t'].name}, {found['1/t'].fitted.value:.3f})",
        figure.curves("semilogarithmic", x="t", y="gap", lines=lines, points=points, log="y"),
        figure.curves("logarithmic", x="t", y="gap", lines=lines, points=points, log="xy"),
    )  # fmt: skip


def _fit(found: optimisation.ConvergenceOrder, gaps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The fitted geometric law on its window, through the gap at the window's end."""
    first, last = found.window
    times = np.arange(first, last + 1)
    return times + 1.0, gaps[last] * found.fitted.value ** (times - last)
