"""Training seen in function space: the flow of the parameters, of the outputs, and of the loss."""

from typing import Annotated

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from leadline import data, networks, tangent
from leadline.evidence import Choice, Range, at_least, at_most, claim, close, figure, method, printed, slope


def tangent_mlp(rng, widths, activation, *, gain, bias_scale):
    """`networks.MLP` in the NTK parametrisation, its N(0, 1) parameters drawn by NumPy, which compiles nothing."""
    shapes = eqx.filter_eval_shape(
        networks.MLP, widths, activation, parametrisation="ntk", gain=gain, bias_scale=bias_scale, key=jax.random.key(0)
    )
    return jax.tree.map(lambda leaf: jnp.asarray(rng.standard_normal(leaf.shape), leaf.dtype), shapes)


def small_task(key, samples, inputs, hidden, loss, activation="tanh"):
    """Random points, targets that suit the loss, and a small NTK-parametrised network as (risk, θ₀, x, y)."""
    rng = data.generator(key)
    x = rng.standard_normal((samples, inputs))
    y = {
        "cross-entropy": rng.integers(0, 3, samples),
        "logistic": rng.choice([-1.0, 1.0], samples),
    }.get(loss, rng.standard_normal(samples))
    widths = (inputs, *hidden, 3 if loss == "cross-entropy" else 1)
    net = tangent_mlp(rng, widths, activation, gain=1.5, bias_scale=0.5)
    f, params = tangent.as_function(net)
    return tangent.OutputRisk(f, loss), params, x, y


def relative_distance(a, b):
    """‖a - b‖/‖b‖ over all arrays of two pytrees."""
    gap = sum(np.sum((np.asarray(u) - np.asarray(v)) ** 2) for u, v in zip(*map(jax.tree.leaves, (a, b)), strict=True))
    return float(np.sqrt(gap / sum(np.sum(np.asarray(v) ** 2) for v in jax.tree.leaves(b))))


@method(
    "squared-loss-flow",
    says=(
        "Gradient flow of the squared loss moves the parameters by the residuals times the output gradients. Descent "
        "with step η at time t = kη differs from it by O(η), classical Runge-Kutta by O(η⁴)."
    ),
    formula=r"\dot\theta = -\nabla L = \sum_i (y_i - f_i)\, \nabla_\theta f(x_i)",
    sources=("eth", "sheet", "cam"),
    assumes=("a smooth activation",),
    shows=("tangent.gradient_flow", "tangent.OutputRisk"),
)
def squared_loss_flow(
    key,
    width: Annotated[int, Range(2, 64)] = 8,
    samples: Annotated[int, Range(2, 20)] = 8,
    inputs: Annotated[int, Range(1, 10)] = 3,
    horizon: Annotated[float, Range(0.5, 4.0)] = 2.0,
    loss: Annotated[str, Choice("half-squared", "logistic")] = "half-squared",
):
    """One small tanh network; the three integrators at t = horizon/λ_max, λ_max of the tangent kernel at the start."""
    risk, start, x, y = small_task(key, samples, inputs, (width,), loss)
    J = np.asarray(networks.parameter_jacobian(eqx.combine(start, risk.f.rest), x))
    g = np.asarray(risk.slope(start, x, y))[:, 0]
    flat, _ = ravel_pytree(risk.gradient(start, x, y))
    yield close(-np.asarray(flat), -J.T @ g, "θ' at the start, against -Σ ∂ℓᵢ ∇f(xᵢ)", atol=1e-12 * np.abs(flat).max())
    if loss == "half-squared":
        residual = y - np.asarray(risk.outputs(start, x))[:, 0]
        yield close(-g, residual, "-∂L/∂f, against the residuals y - f", atol=1e-13 * np.abs(residual).max())

    top = float(np.linalg.eigvalsh(J @ J.T)[-1])
    time = np.array([horizon / top])
    exact = tangent.gradient_flow(risk, start, time, x, y, rtol=1e-12, atol=1e-13)
    shares = horizon / np.round(horizon / np.array([1e-1, 1e-2, 1e-3, 1e-4]))
    coarse = horizon / np.round(horizon / np.array([0.25, 0.125, 0.0625]))
    descent = [
        relative_distance(
            tangent.gradient_flow(risk, start, time, x, y, integrator="descent", step=s / top * (1 + 1e-12)), exact
        )
        for s in shares
    ]
    yield slope(shares, descent, 1.0, "error of descent at a fixed time against η, slope", within=0.1)
    kutta = [
        relative_distance(
            tangent.gradient_flow(risk, start, time, x, y, integrator="rk4", step=s / top * (1 + 1e-12)), exact
        )
        for s in coarse
    ]
    yield slope(coarse, kutta, 4.0, "error of classical Runge-Kutta against η, slope", within=0.5)
    rate = np.polyfit(np.log(shares), np.log(descent), 1)[0]
    yield figure.curves(
        f"Descent follows the flow with an error of order η: slope {rate:.3f} over three decades",
        x="step η · λ_max",
        y="relative distance of the parameters from the flow",
        lines={
            "slope 1": (shares, descent[-1] * shares / shares[-1]),
            "slope 4": (coarse, kutta[-1] * (coarse / coarse[-1]) ** 4),
        },
        points={"gradient descent": (shares, descent), "Runge-Kutta of order 4": (coarse, kutta)},
        log="xy",
    )


@eqx.filter_jit
def _changes(risk, params, x, y, points, etas):
    """f(θ - η∇L) - f(θ) on all points, for each η."""
    gradient = jax.grad(risk)(params, x, y)
    move = lambda eta: risk.outputs(jax.tree.map(lambda p, g: p - eta * g, params, gradient), points).ravel()  # noqa: E731
    return jax.vmap(move)(etas) - risk.outputs(params, points).ravel()


@claim(
    "function-space-flow",
    says=(
        "Under parameter gradient flow the output at any point, seen in training or not, changes by the tangent kernel "
        "times the slope of the loss in the outputs; a step of size η does so up to O(η²). The kernel itself moves."
    ),
    formula=r"\frac{d f(x)}{dt} = -\sum_i k_\theta(x, x_i)\, \frac{\partial L}{\partial f_i}, \quad \dot f = K (y - f)",
    sources=("eth", "sheet", "cam"),
    assumes=("a smooth activation",),
    shows=("tangent.output_velocity",),
)
def function_space_flow(
    key,
    width: Annotated[int, Range(2, 64)] = 16,
    depth: Annotated[int, Range(1, 3)] = 2,
    samples: Annotated[int, Range(2, 20)] = 8,
    loss: Annotated[str, Choice("half-squared", "cross-entropy", "logistic")] = "cross-entropy",
    activation: Annotated[str, Choice("tanh", "gelu", "softplus")] = "tanh",
    steps: Annotated[int, Range(1, 50)] = 20,
):
    """A run of descent; at its start and end the change of outputs is predicted, on the data and on 10 new points."""
    risk, start, x, y = small_task(key, samples, 3, (width,) * depth, loss, activation)
    fresh = data.generator(jax.random.fold_in(key, 1)).standard_normal((10, 3))
    points = np.concatenate([x, fresh])
    kernels = [np.asarray(tangent.empirical_ntk(risk.f, start, points, x))]
    top = float(np.linalg.eigvalsh(kernels[0][: kernels[0].shape[1]])[-1])
    pace = 0.2 / top
    end = tangent.gradient_flow(risk, start, np.array([steps * pace]), x, y, integrator="descent", step=pace)
    end = jax.tree.map(lambda leaf: leaf[0], end)
    kernels.append(np.asarray(tangent.empirical_ntk(risk.f, end, points, x)))

    shares = np.array([0.1, 0.05, 0.025, 0.0125])
    for name, params, kernel in (("start", start, kernels[0]), ("end", end, kernels[1])):
        velocity = np.asarray(tangent.output_velocity(risk, params, x, y, points)).ravel()
        g = np.asarray(risk.slope(params, x, y)).ravel()
        size = float(np.abs(velocity).max())
        yield close(velocity, -kernel @ g, f"f' by two derivatives against -K g, {name} of the run", atol=1e-11 * size)
        h = 1e-4 / top
        forward, back, *changes = np.asarray(_changes(risk, params, x, y, points, np.array([h, -h, *(shares / top)])))
        measured = (forward - back) / (2 * h)
        yield close(
            measured,
            velocity,
            f"change of outputs per unit of time, {name} of the run, train and test",
            atol=1e-5 * size,
        )
        left = [np.linalg.norm(c - s / top * velocity) for c, s in zip(changes, shares, strict=True)]
        yield slope(shares, left, 2.0, f"change beyond -η K g against η, slope, {name} of the run", within=0.1)
        if name == "start":
            drawn = (velocity * shares[0] / top, changes[0])
            yield printed(
                close(measured, -velocity, "change of outputs against -∇f·θ'", atol=1e-5 * size),
                "cam", "df/dt = -∇f·dθ/dt in the first line",
            )  # fmt: skip
    drift = np.linalg.norm(kernels[1] - kernels[0]) / np.linalg.norm(kernels[0])
    yield at_least(drift, 0.0, "‖K_T - K_0‖/‖K_0‖: the kernel moves", strict=True)
    part = np.repeat(np.arange(len(points)) < samples, len(drawn[0]) // len(points))
    reach = np.array([drawn[0].min(), drawn[0].max()])
    yield figure.curves(
        f"One step moves every output by -η K g, seen or not; over {steps} steps K moves by {drift:.0%}",
        x="predicted change -η K ∂L/∂f",
        y="measured change of the output",
        lines={"equal": (reach, reach)},
        points={
            "training points": (drawn[0][part], drawn[1][part]),
            "new points": (drawn[0][~part], drawn[1][~part]),
        },
    )


@eqx.filter_jit
def _rates(risk, path, x, y, etas):
    """Along the path: the three rates of the loss, and its measured change per unit of time for each step size."""

    def one(params):
        gradient = jax.grad(risk)(params, x, y)
        moved = lambda eta: risk(jax.tree.map(lambda p, g: p - eta * g, params, gradient), x, y)  # noqa: E731
        return tangent.dissipation(risk, params, x, y), (jax.vmap(moved)(etas) - risk(params, x, y)) / etas

    return jax.lax.map(one, path)


@claim(
    "loss-dissipation",
    says=(
        "Along the flow the loss falls at the rate of its squared parameter gradient, which is the quadratic form of "
        "the tangent kernel in the slope of the loss; for a mean risk the form carries 1/n²."
    ),
    formula=r"\dot L = -\|\nabla_\theta L\|^2 = -g^\top K g, \quad g = \nabla_f L",
    sources=("cam", "sheet"),
    shows=("tangent.dissipation",),
)
def loss_dissipation(
    key,
    width: Annotated[int, Range(2, 64)] = 16,
    samples: Annotated[int, Range(2, 20)] = 8,
    loss: Annotated[str, Choice("half-squared", "cross-entropy", "logistic", "huber")] = "half-squared",
    mean: bool = False,
    steps: Annotated[int, Range(2, 100)] = 40,
):
    """Every step of a run of descent on a small tanh network; the decrease of the loss for four shorter steps."""
    risk, start, x, y = small_task(key, samples, 3, (width,), loss)
    risk = tangent.OutputRisk(risk.f, risk.loss, mean=mean)
    top = float(np.linalg.eigvalsh(np.asarray(tangent.empirical_ntk(risk.f, start, x)))[-1])
    pace = 0.5 / top * (samples if mean else 1)
    times = pace * np.arange(steps)
    path = tangent.gradient_flow(risk, start, times, x, y, integrator="descent", step=pace * (1 + 1e-9))

    shares = np.array([0.1, 0.05, 0.025, 0.0125])
    three, finite = jax.tree.map(np.asarray, _rates(risk, path, x, y, shares * pace))
    scale = np.abs(three.by_gradient)
    yield close(three.along / scale, -1.0, f"dL/dt by differentiation over ‖∇L‖², {steps} steps", rtol=1e-10)
    yield close(three.by_kernel / scale, -1.0, f"-gᵀKg over ‖∇L‖², {steps} steps", rtol=1e-10)
    yield at_most(three.by_kernel, 0.0, "dL/dt")
    gap = np.max(np.abs(finite - three.by_gradient[:, None]) / scale[:, None], axis=0)
    yield slope(
        shares, gap, 1.0, "decrease of the loss over η against ‖∇L‖²: relative error against η, slope", within=0.1
    )
    yield figure.beside(
        f"Three forms of dL/dt are one: they differ by {np.max(np.abs(three.by_kernel / scale + 1)):.0e} at most",
        figure.curves(
            "The rate at which the loss falls",
            x="time",
            y="-dL/dt",
            lines={"‖∇L‖²": (times, scale), "gᵀKg": (times, -three.by_kernel)},
            points={f"measured with η = {shares[-1] * pace:.1g}": (times, -finite[:, -1])},
            log="y",
        ),
        figure.curves(
            "Measured decrease over prediction",
            x="time",
            y="(L(θ) - L(θ - η∇L))/(η ‖∇L‖²)",
            lines={"1": (times[[0, -1]], np.ones(2))},
            points={f"η = {s * pace:.2g}": (times, -finite[:, i] / scale) for i, s in enumerate(shares) if i != 1},
        ),
    )
