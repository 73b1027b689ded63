"""The gradient flow, gradient descent as its Euler method, and how far the two are apart."""

import jax.numpy as jnp
import numpy as np

from leadline import data, optimisation
from leadline.claims.optimisation.gradient_descent.line_search_zigzag import ellipse
from leadline.claims.scenarios.optimisation.small_regressions import drawn_quadratic
from leadline.evidence import Int, Real, at_least, at_most, claim, close, method, reference, slope
from leadline.optimisation.runs.euler_steps import flow_step, stability_factor
from leadline.presentation import figure


@method(sources=("eth", "sheet", "penn"), shows=("optimisation.integrate",))
def gradient_flow(
    key, condition: Real(1.0, 1e6, log=True) = 10.0, dimension: Int(2, 20) = 2, time: Real(0.1, 10.0, log=True) = 2.0
):
    r"""Gradient flow.

    Steepest descent in continuous time, dW/dτ = −∇l(W). On quadratics $W - w^* = e^{-H\tau}(w^0 - w^*)$; on every l
    the loss falls at the rate ‖∇l‖², so the total decrease is the integral of ‖∇l‖².

    $$\dot W = -\nabla l(W), \qquad \frac{d}{d\tau} l(W) = -\|\nabla l(W)\|^2$$

    Assumes: ∇l is Lipschitz along the path.

    Check: The flow is integrated on a quadratic in a random basis with curvatures from 1 to κ, by the stiff solver
    where κ > 1000.
    """
    rng = data.generator(key)
    basis = np.linalg.qr(rng.normal(size=(dimension, dimension)))[0]
    values = np.geomspace(1.0, condition, dimension)
    matrix = (basis * values) @ basis.T
    objective = optimisation.Quadratic(jnp.asarray((matrix + matrix.T) / 2), jnp.zeros(dimension))
    start, times = rng.normal(size=dimension), np.linspace(0.0, time, 41)
    flow = optimisation.gradient_flow(objective, jnp.asarray(start), jnp.asarray(times), stiff=condition > 1e3)
    exact = (np.exp(-times[:, None] * values) * (start @ basis)) @ basis.T
    points, losses, size = np.asarray(flow.points), np.asarray(flow.values), np.linalg.norm(start)
    lost = losses[0] - losses
    yield close(points, exact, "W at 41 times, against e^(−Hτ)w⁰", atol=1e-8 * size)
    yield close(flow.dissipated, lost, "∫‖∇l‖² up to each time, against the loss of l", atol=1e-8 * losses[0])
    yield at_most(np.diff(losses), 0.0, "change of l between times: it never rises", atol=1e-10 * losses[0])
    bend, tau = min(condition, 20.0), np.linspace(0, 4, 60)
    seen, path = (p @ basis[:, [0, -1]] / size for p in (exact, points))
    lines = {f"l = {v:.2g}": ellipse(np.diag([1.0, bend]), v) for v in (0.1, 0.3)} | {"e^(−Hτ)w⁰": tuple(seen.T)}
    for angle in (60, 120, 240, 300):
        c, s = np.cos(np.radians(angle)), np.sin(np.radians(angle))
        lines[f"flow from {angle}°"] = (c * np.exp(-tau), s * np.exp(-bend * tau))
    error = np.max(np.abs(points - exact))
    title = f"The integrated path is within {error:.0e} of e^(−Hτ)w⁰; flow lines cross the contours at right angles"
    axes, domain = ("along the least curvature", "along the top curvature"), ((-1.1, 1.1), (-1.1, 1.1))
    yield figure.plane(title, *axes, lines=lines, points={"integrated": path[::2]}, domain=domain)


@claim(sources=("penn", "sheet", "eth"))
def gd_is_euler_of_gradient_flow(
    key,
    step_size: Real(0.01, 100.0, log=True) = 1.5,
    condition: Real(1.5, 1000.0, log=True) = 20.0,
    dimension: Int(2, 30) = 5,
    num_steps: Int(1, 100) = 30,
):
    r"""Gradient descent as Euler's method.

    One explicit Euler step of size η of the gradient flow is one step of gradient descent; implicit Euler is the
    proximal point step, stable for every η on convex functions (factor 1/(1 + ηλ)); RK4 is another optimiser.

    $$w^{t+1} = w^t - \eta\, \nabla l(w^t) \quad\text{or}\quad w^{t+1} + \eta\, \nabla l(w^{t+1}) = w^t$$

    Assumes: for implicit Euler: l is convex.

    Check: The parameter `step_size` is ηL, on a quadratic and on a logistic regression with ridge of the given κ.
    """
    rng = data.generator(key)
    bowl = drawn_quadratic(rng, dimension, condition)
    hessian = np.asarray(bowl.matrix)
    start, eta = rng.normal(size=dimension), step_size / condition
    w, errors = start, []
    for point in optimisation.gradient_path(bowl.gradient, start, eta, num_steps)[1:]:
        w = flow_step("euler", bowl.gradient, w, eta)
        errors.append(np.linalg.norm(w - point) / np.linalg.norm(point))
    yield at_most(errors, 1e-12, "relative difference of Euler iterates and gradient descent")
    w, values, basis = start, *np.linalg.eigh(hessian)
    for _ in range(num_steps):
        w = flow_step("implicit euler", bowl.gradient, w, eta, hessian=lambda _: hessian)
    predicted = basis @ ((basis.T @ start) * stability_factor("implicit euler", eta * values) ** num_steps)
    yield close(w, predicted, "implicit Euler on the quadratic, against (1 + ηλ)^(−t)", atol=1e-10)
    yield at_most(np.linalg.norm(w), np.linalg.norm(start), "implicit Euler: distance to the minimum does not grow")
    y = rng.choice([-1.0, 1.0], 40)
    x = rng.normal(size=(40, dimension)) + 0.5 * y[:, None]
    penalty = float(np.linalg.norm(x, 2) ** 2 / 160) / (condition - 1)
    loss = optimisation.LogisticRidge(x, y, penalty)
    eta = step_size / loss.constants().smoothness
    after = flow_step("implicit euler", loss.gradient, start, eta, hessian=loss.hessian)
    back = after + eta * loss.gradient(after)
    yield close(back, start, "w⁺ + η∇l(w⁺) on logistic regression, against w", atol=1e-10 * (1 + step_size))
    nearby = after + 0.1 * rng.normal(size=(200, dimension))
    proximal = loss(nearby) + np.sum((nearby - start) ** 2, 1) / (2 * eta)
    here = loss(after) + np.sum((after - start) ** 2) / (2 * eta)
    yield at_least(proximal, here, "l(v) + ‖v − w‖²/(2η) at 200 points near w⁺: least at w⁺", rtol=1e-12)
    z = np.linspace(0.0, 4.0, 81)
    lines, points = {"e^(−ηλ), the flow": (z, np.exp(-z)), "limit of stability": (z, np.ones(81))}, {}
    problem = {"gradient": lambda w: w, "hessian": lambda _: np.eye(1)}
    for scheme in ("euler", "implicit euler", "midpoint", "rk4"):
        factor = stability_factor(scheme, z)
        taken = [flow_step(scheme, w=np.ones(1), step_size=float(s), **problem)[0] for s in z]
        yield close(taken, factor, f"factor of one step on a parabola, {scheme}", atol=1e-12)
        lines[scheme], points[scheme] = (z, np.abs(factor)), (z[::8], np.abs(taken)[::8])
    limits = [z[np.argmax(lines[scheme][1] > 1 + 1e-12)] for scheme in ("euler", "midpoint", "rk4")]
    yield close(limits, [2.0, 2.0, 2.785], "ηλ from which Euler, midpoint and RK4 grow", atol=0.051)
    title = "Euler is stable up to ηλ = 2, RK4 up to 2.79, implicit Euler for every step"
    yield figure.curves(title, "ηλ", "|factor per step|", lines=lines, points=points)


@claim(sources=("eth", "sheet", "penn"))
def gd_flow_gap(
    key,
    time: Real(0.5, 5.0) = 2.0,
    curvature: Real(1.0, 10.0) = 4.0,
    largest: Real(0.01, 0.1) = 0.1,
    halvings: Int(3, 8) = 5,
):
    r"""Distance between descent and gradient flow.

    On a finite horizon gradient descent stays within O(η) of the gradient flow: the maximum over k of ‖wᵏ − W(kη)‖ is
    proportional to η for small η. Beyond η = 2/L the flow is no model of it at all.

    $$\max_{k \eta \le T} \|w^k - W(k \eta)\| = O(\eta)$$

    Assumes: η < 2/L; a finite horizon.

    Check: The quadratic with H = diag(1, `curvature`) is started from (1, 1), with steps from ηL = `largest` on,
    halved each time; the flow of w⁴/4 + w²/2 is compared too.
    """
    four = [_quadratic_gap(eta, 2.0, np.array([1.0, 4.0])) for eta in (0.1, 0.05, 0.025, 0.0125)]
    what = "largest distance for H = diag(1, 4), T = 2, η = 0.1, 0.05, 0.025, 0.0125"
    yield reference(four, [0.0898, 0.0405, 0.0194, 0.00947], what, digits=3)
    values = np.array([1.0, curvature])
    etas = largest / curvature / 2.0 ** np.arange(halvings)
    gaps = np.array([_quadratic_gap(eta, time, values) for eta in etas])
    yield slope(etas, gaps, 1.0, "exponent of η in the largest distance, quadratic", within=0.05)
    bent = np.array([_bent_gap(eta, time) for eta in etas])
    yield slope(etas, bent, 1.0, "exponent of η in the largest distance, w⁴/4 + w²/2 from 1", within=0.05)
    far = _quadratic_gap(2.5 / curvature, 40.0 / curvature, values)
    yield at_least(far, 10.0, "distance after 16 steps 2.5/L: the flow is no model", strict=True)
    yield at_most(np.diff(gaps), 0.0, "change of the largest distance each time η is halved", strict=True)
    title = f"The distance of descent and flow over T = {time:.3g} is proportional to η: {gaps[0] / etas[0]:.2g} η"
    points = {"quadratic": (etas, gaps), "w⁴/4 + w²/2": (etas, bent)}
    lines = {name: (etas, measured[-1] * etas / etas[-1]) for name, (_, measured) in points.items()}
    yield figure.curves(title, "η", "max ‖wᵏ − W(kη)‖", lines=lines, points=points, log="xy")


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
