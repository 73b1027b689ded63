"""Training seen in function space: the flow of the parameters, of the outputs, and of the loss."""

import equinox as eqx
import jax
import numpy as np
from jax.flatten_util import ravel_pytree

from leadline import as_apply, data, networks, tangent
from leadline.claims.tangent.tangent_space.tangent_kernel import drawn_mlp
from leadline.evidence import Int, OneOf, Real, at_least, at_most, claim, close, erratum, method, slope
from leadline.presentation import figure
from leadline.tangent.dynamics.velocities import output_velocity


def small_task(key, samples, inputs, hidden, loss, activation="tanh"):
    """Random points, targets that suit the loss, and a small NTK-parametrised network as (risk, θ₀, x, y)."""
    rng = data.generator(key)
    x = rng.standard_normal((samples, inputs))
    classes, signs = rng.integers(0, 3, samples), rng.choice([-1.0, 1.0], samples)
    y = {"cross-entropy": classes, "logistic": signs}.get(loss, rng.standard_normal(samples))
    widths = (inputs, *hidden, 3 if loss == "cross-entropy" else 1)
    apply, params = as_apply(drawn_mlp(rng, widths, activation, gain=1.5, bias_scale=0.5))
    return tangent.OutputRisk(apply, loss), params, x, y


def relative_distance(a, b):
    """‖a - b‖/‖b‖ over all arrays of two pytrees."""
    gap = sum(np.sum((np.asarray(u) - np.asarray(v)) ** 2) for u, v in zip(*map(jax.tree.leaves, (a, b)), strict=True))
    return float(np.sqrt(gap / sum(np.sum(np.asarray(v) ** 2) for v in jax.tree.leaves(b))))


@method(sources=("eth", "sheet", "cam"), shows=("tangent.OutputRisk",))
def squared_loss_flow(
    key,
    width: Int(2, 64) = 8,
    samples: Int(2, 20) = 8,
    inputs: Int(1, 10) = 3,
    horizon: Real(0.5, 4.0) = 2.0,
    loss: OneOf("half-squared", "logistic") = "half-squared",
):
    r"""Gradient flow of the squared loss.

    Gradient flow of the squared loss moves the parameters along the output gradients, weighted by the residuals.
    Gradient descent with step size η differs from it at time t = kη by O(η), the classical Runge–Kutta method by
    O(η⁴).

    $$\dot\theta = -\nabla L = \sum_i (y_i - f_i)\, \nabla_\theta f(x_i)$$

    Assumes: a smooth activation.

    Check: One small tanh network up to t = `horizon`/λₘₐₓ, with λₘₐₓ that of the kernel at the start.
    """
    risk, start, x, y = small_task(key, samples, inputs, (width,), loss)
    J = np.asarray(networks.parameter_jacobian(risk.apply, start, x))
    g = np.asarray(risk.slope(start, x, y))[:, 0]
    flat, _ = ravel_pytree(risk.gradient(start, x, y))
    yield close(-np.asarray(flat), -J.T @ g, "θ' at the start, against -Σ ∂ℓᵢ ∇f(xᵢ)", atol=1e-12 * np.abs(flat).max())
    if loss == "half-squared":
        residual = y - np.asarray(risk.outputs(start, x))[:, 0]
        yield close(-g, residual, "-∂L/∂f, against the residuals y - f", atol=1e-13 * np.abs(residual).max())
    top = float(np.linalg.eigvalsh(J @ J.T)[-1])
    time = np.array([horizon / top])
    exact = tangent.parameter_flow(risk, start, time, x, y, rtol=1e-12, atol=1e-13)
    shares = horizon / np.round(horizon / np.array([1e-1, 1e-2, 1e-3, 1e-4]))
    coarse = horizon / np.round(horizon / np.array([0.25, 0.125, 0.0625]))

    def error(integrator, share):
        step = share / top * (1 + 1e-12)
        end = tangent.parameter_flow(risk, start, time, x, y, integrator=integrator, step_size=step)
        return relative_distance(end, exact)

    descent = [error("descent", s) for s in shares]
    yield slope(shares, descent, 1.0, "error of descent at a fixed time against η, slope", within=0.1)
    kutta = [error("rk4", s) for s in coarse]
    yield slope(coarse, kutta, 4.0, "error of classical Runge-Kutta against η, slope", within=0.5)
    rate = np.polyfit(np.log(shares), np.log(descent), 1)[0]
    lines = {
        "slope 1": (shares, descent[-1] * shares / shares[-1]),
        "slope 4": (coarse, kutta[-1] * (coarse / coarse[-1]) ** 4),
    }
    points = {"gradient descent": (shares, descent), "Runge-Kutta of order 4": (coarse, kutta)}
    title = f"Descent follows the flow with an error of order η: slope {rate:.3f} over three decades"
    axes = "step size η · λ_max", "relative distance of the parameters from the flow"
    yield figure.curves(title, *axes, lines=lines, points=points, log="xy")


@eqx.filter_jit
def _changes(risk, params, x, y, points, etas):
    """f(θ - η∇L) - f(θ) on all points, for each η."""
    gradient = jax.grad(risk)(params, x, y)
    move = lambda eta: risk.outputs(jax.tree.map(lambda p, g: p - eta * g, params, gradient), points).ravel()  # noqa: E731
    return jax.vmap(move)(etas) - risk.outputs(params, points).ravel()


@claim(sources=("eth", "sheet", "cam"))
def function_space_flow(
    key,
    width: Int(2, 64) = 16,
    depth: Int(1, 3) = 2,
    samples: Int(2, 20) = 8,
    loss: OneOf("half-squared", "cross-entropy", "logistic") = "cross-entropy",
    activation: OneOf("tanh", "gelu", "softplus") = "tanh",
    num_steps: Int(1, 50) = 20,
):
    r"""Tangent kernel drives the outputs.

    Under parameter gradient flow the output at any point, whether seen in training or not, changes by the tangent
    kernel times the derivative of the loss with respect to the outputs; a step of size η does so up to O(η²). The
    kernel itself moves.

    $$\frac{d f(x)}{dt} = -\sum_i k_\theta(x, x_i)\, \frac{\partial L}{\partial f_i}, \quad \dot f = K (y - f)$$

    Assumes: a smooth activation.

    Check: At the start and the end of a run of gradient descent, on the data and on 10 new points.
    """
    risk, start, x, y = small_task(key, samples, 3, (width,) * depth, loss, activation)
    fresh = data.generator(jax.random.fold_in(key, 1)).standard_normal((10, 3))
    points = np.concatenate([x, fresh])
    kernels = [np.asarray(tangent.empirical_ntk(risk.apply, start, points, x))]
    top = float(np.linalg.eigvalsh(kernels[0][: kernels[0].shape[1]])[-1])
    pace = 0.2 / top
    end = tangent.parameter_flow(risk, start, np.array([num_steps * pace]), x, y, integrator="descent", step_size=pace)
    end = jax.tree.map(lambda leaf: leaf[0], end)
    kernels.append(np.asarray(tangent.empirical_ntk(risk.apply, end, points, x)))
    shares = np.array([0.1, 0.05, 0.025, 0.0125])
    for name, params, kernel in (("start", start, kernels[0]), ("end", end, kernels[1])):
        velocity = np.asarray(output_velocity(risk, params, x, y, points)).ravel()
        g = np.asarray(risk.slope(params, x, y)).ravel()
        size = float(np.abs(velocity).max())
        yield close(velocity, -kernel @ g, f"f' by two derivatives against -K g, {name} of the run", atol=1e-11 * size)
        h = 1e-4 / top
        forward, back, *changes = np.asarray(_changes(risk, params, x, y, points, np.array([h, -h, *(shares / top)])))
        measured = (forward - back) / (2 * h)
        what = f"change of outputs per unit of time, {name} of the run, all points"
        right = close(measured, velocity, what, atol=1e-5 * size)
        yield right
        left = [np.linalg.norm(c - s / top * velocity) for c, s in zip(changes, shares, strict=True)]
        yield slope(shares, left, 2.0, f"change beyond -η K g against η, slope, {name} of the run", within=0.1)
        if name == "start":
            drawn = (velocity * shares[0] / top, changes[0])
            wrong = close(measured, -velocity, "change of outputs per unit of time, against -∇f·θ'", atol=1e-5 * size)
            yield erratum(wrong, of=right, by="cam", prints="df/dt = −∇f·θ′ in the first line (the next is right)")
    drift = np.linalg.norm(kernels[1] - kernels[0]) / np.linalg.norm(kernels[0])
    yield at_least(drift, 0.0, "‖K_T - K_0‖/‖K_0‖: the kernel moves", strict=True)
    part = np.repeat(np.arange(len(points)) < samples, len(drawn[0]) // len(points))
    reach = np.array([drawn[0].min(), drawn[0].max()])
    title = f"One step moves every output by -η K g, seen or not; over {num_steps} steps K moves by {drift:.0%}"
    parts = {"training points": part, "new points": ~part}
    dots = {name: (drawn[0][chosen], drawn[1][chosen]) for name, chosen in parts.items()}
    axes = "predicted change -η K ∂L/∂f", "measured change of the output"
    yield figure.curves(title, *axes, lines={"equal": (reach, reach)}, points=dots)


@eqx.filter_jit
def _rates(risk, path, x, y, etas):
    """Along the path: the three rates of the loss, and its measured change per unit of time for each step size."""

    def one(params):
        gradient = jax.grad(risk)(params, x, y)
        moved = lambda eta: risk(jax.tree.map(lambda p, g: p - eta * g, params, gradient), x, y)  # noqa: E731
        return tangent.dissipation(risk, params, x, y), (jax.vmap(moved)(etas) - risk(params, x, y)) / etas

    return jax.lax.map(one, path)


@claim(sources=("cam", "sheet"), shows=("tangent.dissipation",))
def loss_dissipation(
    key,
    width: Int(2, 64) = 16,
    samples: Int(2, 20) = 8,
    loss: OneOf("half-squared", "cross-entropy", "logistic", "huber") = "half-squared",
    mean: bool = False,
    num_steps: Int(2, 100) = 40,
):
    r"""Loss dissipation along gradient flow.

    Along the flow the loss falls at the rate of its squared parameter gradient, which is the quadratic form of the
    tangent kernel in the derivative of the loss with respect to the outputs; for a mean risk the form carries a factor
    1/n².

    $$\dot L = -\|\nabla_\theta L\|^2 = -g^\top K g, \quad g = \nabla_f L$$
    """
    risk, start, x, y = small_task(key, samples, 3, (width,), loss)
    risk = tangent.OutputRisk(risk.apply, risk.loss, mean=mean)
    top = float(np.linalg.eigvalsh(np.asarray(tangent.empirical_ntk(risk.apply, start, x)))[-1])
    pace = 0.5 / top * (samples if mean else 1)
    times = pace * np.arange(num_steps)
    path = tangent.parameter_flow(risk, start, times, x, y, integrator="descent", step_size=pace * (1 + 1e-9))
    shares = np.array([0.1, 0.05, 0.025, 0.0125])
    three, finite = jax.tree.map(np.asarray, _rates(risk, path, x, y, shares * pace))
    scale = np.abs(three.by_gradient)
    yield close(three.along / scale, -1.0, f"dL/dt by differentiation over ‖∇L‖², {num_steps} steps", rtol=1e-10)
    yield close(three.by_kernel / scale, -1.0, f"-gᵀKg over ‖∇L‖², {num_steps} steps", rtol=1e-10)
    yield at_most(three.by_kernel, 0.0, "dL/dt at every step")
    gap = np.max(np.abs(finite - three.by_gradient[:, None]) / scale[:, None], axis=0)
    what = "decrease of the loss over η against ‖∇L‖²: relative error against η, slope"
    yield slope(shares, gap, 1.0, what, within=0.1)
    lines = {"‖∇L‖²": (times, scale), "gᵀKg": (times, -three.by_kernel)}
    points = {f"measured with η = {shares[-1] * pace:.1g}": (times, -finite[:, -1])}
    left = figure.curves("The rate at which the loss falls", "time", "-dL/dt", lines=lines, points=points, log="y")
    lines = {"1": (times[[0, -1]], np.ones(2))}
    points = {f"η = {s * pace:.2g}": (times, -finite[:, i] / scale) for i, s in enumerate(shares) if i != 1}
    title, ratio = "Measured decrease over prediction", "(L(θ) - L(θ - η∇L))/(η ‖∇L‖²)"
    right = figure.curves(title, "time", ratio, lines=lines, points=points)
    apart = np.max(np.abs(three.by_kernel / scale + 1))
    yield figure.beside(f"Three forms of dL/dt are one: they differ by {apart:.0e} at most", left, right)
