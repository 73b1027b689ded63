"""The gradient flow, gradient descent as its Euler method, and how far the two are apart."""

from typing import Annotated

import jax.numpy as jnp
import numpy as np

from leadline import data, optimisation
from leadline.claims.optimisation import plain_problems
from leadline.claims.optimisation.line_search_zigzag import ellipse
from leadline.evidence import Range, at_least, at_most, claim, close, exactly, figure, method, slope


@method(
    "gradient-flow",
    says=(
        "Steepest descent in continuous time, dW/dτ = −∇l(W). On quadratics W − w* = e^(−Hτ)(w⁰ − w*); on every l the "
        "loss falls at the rate ‖∇l‖², so what it has lost is the integral of ‖∇l‖²."
    ),
    formula=r"\dot W = -\nabla l(W), \qquad \frac{d}{d\tau} l(W) = -\|\nabla l(W)\|^2",
    sources=("eth", "sheet", "penn"),
    assumes=("∇l is Lipschitz where the path goes",),
    shows=("optimisation.gradient_flow", "optimisation.Flow", "optimisation.integrate"),
)
def gradient_flow(
    key,
    condition: Annotated[float, Range(1.0, 1e6, log=True)] = 10.0,
    dimension: Annotated[int, Range(2, 20)] = 2,
    time: Annotated[float, Range(0.1, 10.0, log=True)] = 2.0,
):
    """A quadratic in a random basis, curvatures from 1 to κ, by the stiff solver where κ > 1000."""
    rng = data.generator(key)
    basis = np.linalg.qr(rng.normal(size=(dimension, dimension)))[0]
    values = np.geomspace(1.0, condition, dimension)
    matrix = (basis * values) @ basis.T
    matrix = (matrix + matrix.T) / 2
    objective = optimisation.Quadratic(jnp.asarray(matrix), jnp.zeros(dimension))
    start = rng.normal(size=dimension)
    times = np.linspace(0.0, time, 41)
    stiff = condition > 1e3
    flow = optimisation.gradient_flow(objective, jnp.asarray(start), jnp.asarray(times), stiff=stiff)
    exact = (np.exp(-times[:, None] * values) * (start @ basis)) @ basis.T
    size = float(np.linalg.norm(start))
    yield close(flow.points, exact, "W at 41 times, against e^(−Hτ)w⁰", atol=1e-8 * size)
    lost = np.asarray(flow.values[0] - flow.values)
    first = float(flow.values[0])
    yield close(flow.dissipated, lost, "∫‖∇l‖² up to each time, against the loss of l", atol=1e-8 * first)
    yield at_most(
        np.diff(np.asarray(flow.values)), 0.0, "change of l between times: it never rises", atol=1e-10 * first
    )

    bend, tau = min(condition, 20.0), np.linspace(0, 4, 60)
    streams = {
        f"flow from {angle}°": (c * np.exp(-tau), s * np.exp(-bend * tau))
        for angle, c, s in ((a, np.cos(np.radians(a)), np.sin(np.radians(a))) for a in (60, 120, 240, 300))
    }
    error = np.max(np.abs(np.asarray(flow.points) - exact))
    seen, path = ((p @ basis[:, [0, -1]]) / size for p in (exact, np.asarray(flow.points)))
    yield figure.plane(
        f"The integrated path is within {error:.0e} of e^(−Hτ)w⁰; flow lines cross the contours at right angles",
        x="along the least curvature",
        y="along the top curvature",
        lines={f"l = {v:.2g}": ellipse(np.diag([1.0, bend]), v) for v in (0.1, 0.3)}
        | {"e^(−Hτ)w⁰": (seen[:, 0], seen[:, 1])}
        | streams,
        points={"integrated": path[::2]},
        domain=((-1.1, 1.1), (-1.1, 1.1)),
    )


@claim(
    "gd-is-euler-of-gradient-flow",
    says=(
        "One explicit Euler step of size η of the gradient flow is one step of gradient descent; implicit Euler is the "
        "proximal point step, stable for every η on convex functions (factor 1/(1 + ηλ)); RK4 is another optimiser."
    ),
    formula=r"w^{t+1} = w^t - \eta\, \nabla l(w^t) \quad\text{or}\quad w^{t+1} + \eta\, \nabla l(w^{t+1}) = w^t",
    sources=("penn", "sheet", "eth"),
    assumes=("implicit Euler: l convex",),
)
def gd_is_euler_of_gradient_flow(
    key,
    step: Annotated[float, Range(0.01, 100.0, log=True)] = 1.5,
    condition: Annotated[float, Range(1.5, 1000.0, log=True)] = 20.0,
    dimension: Annotated[int, Range(2, 30)] = 5,
    steps: Annotated[int, Range(1, 100)] = 30,
):
    """`step` is ηL, on a quadratic and on a logistic regression with ridge of this κ."""
    rng = data.generator(key)
    bowl = plain_problems.drawn_quadratic(rng, dimension, condition)
    hessian = np.stack([bowl.gradient(e) for e in np.eye(dimension)])
    start, eta = rng.normal(size=dimension), step / condition
    w, path = start, bowl.descent(start, eta, steps)
    worst = 0.0
    for t in range(steps):
        w = optimisation.flow_step("euler", bowl.gradient, w, eta)
        worst = max(worst, float(np.linalg.norm(w - path[t + 1]) / np.linalg.norm(path[t + 1])))
    yield at_most(worst, 1e-12, "relative difference of Euler iterates and gradient descent")

    w, values, basis = start, *np.linalg.eigh(hessian)
    for _ in range(steps):
        w = optimisation.flow_step("implicit euler", bowl.gradient, w, eta, hessian=lambda _: hessian)
    predicted = basis @ ((basis.T @ start) * optimisation.stability_factor("implicit euler", eta * values) ** steps)
    yield close(w, predicted, "implicit Euler on the quadratic, against (1 + ηλ)^(−t)", atol=1e-10)
    yield at_most(np.linalg.norm(w), np.linalg.norm(start), "its distance to the minimum does not grow")

    y = rng.choice([-1.0, 1.0], 40)
    x = rng.normal(size=(40, dimension)) + 0.5 * y[:, None]
    penalty = float(np.linalg.norm(x, 2) ** 2 / 160) / (condition - 1)
    loss = plain_problems.logistic(x, y, penalty)

    def curvature(w):
        s = np.exp(-np.logaddexp(0.0, -x @ w))
        return (x.T * (s * (1 - s))) @ x / 40 + penalty * np.eye(dimension)

    eta = step / loss.smoothness
    after = optimisation.flow_step("implicit euler", loss.gradient, start, eta, hessian=curvature)
    yield close(
        after + eta * loss.gradient(after), start, "w⁺ + η∇l(w⁺) on logistic regression", atol=1e-10 * (1 + step)
    )
    nearby = after + 0.1 * rng.normal(size=(200, dimension))
    proximal = loss.value(nearby) + np.sum((nearby - start) ** 2, 1) / (2 * eta)
    here = loss.value(after) + np.sum((after - start) ** 2) / (2 * eta)
    yield at_least(proximal, here, "l(v) + ‖v − w‖²/(2η) at 200 points near w⁺: least at w⁺", rtol=1e-12)

    z = np.linspace(0.0, 4.0, 81)
    lines, points = {"e^(−ηλ), the flow": (z, np.exp(-z)), "limit of stability": (z, np.ones(81))}, {}
    for scheme in ("euler", "implicit euler", "midpoint", "rk4"):
        factor = optimisation.stability_factor(scheme, z)
        taken = [
            optimisation.flow_step(scheme, lambda w: w, np.ones(1), float(s), hessian=lambda _: np.eye(1))[0] for s in z
        ]
        yield close(taken, factor, f"factor of one step on a parabola, {scheme}", atol=1e-12)
        lines[scheme], points[scheme] = (z, np.abs(factor)), (z[::8], np.abs(taken)[::8])
    limits = [
        z[np.argmax(np.abs(optimisation.stability_factor(s, z)) > 1 + 1e-12)] for s in ("euler", "midpoint", "rk4")
    ]
    yield close(limits, [2.0, 2.0, 2.785], "ηλ from which Euler, midpoint and RK4 grow", atol=0.051)
    yield figure.curves(
        "Euler is stable up to ηλ = 2, RK4 up to 2.79, implicit Euler for every step",
        x="ηλ",
        y="|factor per step|",
        lines=lines,
        points=points,
    )


@claim(
    "gd-flow-gap",
    says=(
        "On a finite horizon gradient descent stays within O(η) of the gradient flow: max over k of ‖wᵏ − W(kη)‖ is "
        "proportional to η for small η. Beyond η = 2/L the flow is no model of it at all."
    ),
    formula=r"\max_{k \eta \le T} \|w^k - W(k \eta)\| = O(\eta)",
    sources=("eth", "sheet", "penn"),
    assumes=("η < 2/L", "a finite horizon"),
)
def gd_flow_gap(
    key,
    time: Annotated[float, Range(0.5, 5.0)] = 2.0,
    curvature: Annotated[float, Range(1.0, 10.0)] = 4.0,
    largest: Annotated[float, Range(0.01, 0.1)] = 0.1,
    halvings: Annotated[int, Range(3, 8)] = 5,
):
    """H = diag(1, `curvature`) from (1, 1); steps from ηL = `largest` on, halved; and the flow of w⁴/4 + w²/2."""
    reference = [_quadratic_gap(eta, 2.0, np.array([1.0, 4.0])) for eta in (0.1, 0.05, 0.025, 0.0125)]
    yield close(reference, [0.0898, 0.0405, 0.0194, 0.00947], "diag(1, 4), T = 2, four steps", atol=6e-5)
    values = np.array([1.0, curvature])
    etas = largest / curvature / 2.0 ** np.arange(halvings)
    gaps = np.array([_quadratic_gap(eta, time, values) for eta in etas])
    yield slope(etas, gaps, 1.0, "exponent of η in the largest distance, quadratic", within=0.05)
    bent = np.array([_bent_gap(eta, time) for eta in etas])
    yield slope(etas, bent, 1.0, "exponent of η in the largest distance, w⁴/4 + w²/2 from 1", within=0.05)
    far = _quadratic_gap(2.5 / curvature, 40.0 / curvature, values)
    yield at_least(far, 10.0, "distance after 16 steps 2.5/L: the flow is no model", strict=True)
    yield exactly(bool(np.all(np.diff(gaps) < 0)), True, "halving η lowers the distance every time")
    yield figure.curves(
        f"The distance of descent and flow over T = {time:.3g} is proportional to η: {gaps[0] / etas[0]:.2g} η",
        x="η",
        y="max ‖wᵏ − W(kη)‖",
        lines={
            "quadratic": (etas, gaps[-1] * etas / etas[-1]),
            "w⁴/4 + w²/2": (etas, bent[-1] * etas / etas[-1]),
        },
        points={"quadratic": (etas, gaps), "w⁴/4 + w²/2": (etas, bent)},
        log="xy",
    )


def _quadratic_gap(eta: float, time: float, values: np.ndarray) -> float:
    """max over kη ≤ T of the distance between (1 − ηλ)ᵏ and e^(−kηλ), from (1, 1)."""
    k = np.arange(int(np.floor(time / eta + 1e-9)) + 1)[:, None]
    return float(np.max(np.linalg.norm((1 - eta * values) ** k - np.exp(-k * eta * values), axis=1)))


def _bent_gap(eta: float, time: float) -> float:
    """The same for l = w⁴/4 + w²/2 from 1, whose flow is W = e^(−τ)/√(2 − e^(−2τ))."""
    count, w, largest = int(np.floor(time / eta + 1e-9)), 1.0, 0.0
    for k in range(1, count + 1):
        w -= eta * (w**3 + w)
        decay = np.exp(-k * eta)
        largest = max(largest, abs(w - decay / np.sqrt(2 - decay**2)))
    return largest
