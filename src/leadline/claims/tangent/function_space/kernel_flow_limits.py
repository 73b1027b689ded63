"""What the kernel flow does to the risk, and where it ends: dissipation, rates, and the two exceptions."""

import jax.numpy as jnp
import numpy as np

from leadline import data, infinite_width, learning, tangent
from leadline.claims.tangent.function_space.kernel_flow import LOSSES, kernel_called, logistic_of_output, spaced_points
from leadline.evidence import Int, OneOf, Real, at_least, at_most, claim, close, erratum
from leadline.presentation import figure


def _mean_squared(outputs, targets):
    return jnp.mean(learning.squared(outputs, targets))


def _mean_logistic(outputs, labels):
    return jnp.mean(logistic_of_output(outputs, labels))


RISKS = {"squared": _mean_squared, "logistic": _mean_logistic}


@claim(sources=("cam",))
def kernel_flow_dissipation(
    key,
    samples: Int(2, 30) = 10,
    kernel: OneOf("gaussian", "laplace", "matern32") = "laplace",
    scale: Real(0.1, 2.0) = 0.5,
    loss: OneOf("squared", "logistic") = "logistic",
    horizon: Real(1.0, 50.0, log=True) = 10.0,
):
    r"""Risk dissipation along the kernel flow.

    Along the kernel flow the risk falls, at the rate of the squared norm of its gradient in the space of the kernel.

    $$\dot{\mathcal R} = -\|\nabla_F \mathcal R\|_F^2 = -\frac{1}{n^2} g^\top K g \le 0$$
    """
    rng = data.generator(key)
    x, k = rng.uniform(-1, 1, (samples, 2)), kernel_called(kernel, scale)
    y, K = rng.choice([-1.0, 1.0], samples), k(x, x)
    start = 0.5 * rng.standard_normal(samples)
    unit = samples / (2 * np.linalg.eigvalsh(K)[-1])
    times, h = unit * np.linspace(0.1, horizon, 25), 0.01 * unit
    stencil = (times[:, None] + h * np.arange(-2, 3)).ravel()
    accuracy = {"rtol": 1e-11, "atol": 1e-13, "max_steps": 1_000_000}
    flow = infinite_width.function_flow(K, y, stencil, loss=RISKS[loss], start=start, **accuracy)
    f = np.asarray(flow.outputs).reshape(25, 5, samples)
    risk = np.asarray(jnp.mean(LOSSES[loss](jnp.asarray(f), jnp.asarray(y)), axis=-1))
    measured = risk @ np.array([1, -8, 0, 8, -1]) / (12 * h)
    gradients = [tangent.functional_gradient(k, x, f[i, 2], y, LOSSES[loss]) for i in (0, 12, 24)]
    g = np.asarray(learning.loss_slope(LOSSES[loss], jnp.asarray(f[:, 2]), jnp.asarray(y)))
    predicted = -np.sum(g * (g @ K), axis=1) / samples**2
    norms = [-v.squared_norm() for v in gradients]
    yield close(predicted[[0, 12, 24]], norms, "-(1/n²) gᵀKg, against -‖∇R‖² of the functional gradient", rtol=1e-9)
    yield close(measured, predicted, "dR/dt at 25 times, against -(1/n²) gᵀKg", atol=1e-6 * np.abs(predicted).max())
    yield at_most(np.diff(risk[:, 2]), 0.0, "change of the risk from one time to the next")
    title = f"The risk falls at the rate ‖∇R‖²: from {-predicted[0]:.2g} to {-predicted[-1]:.1g}"
    lines, points = {"(1/n²) gᵀKg": (times, -predicted)}, {"slope of the risk": (times, -measured)}
    yield figure.curves(title, "time", "-dR/dt", lines=lines, points=points, log="y")


@claim(sources=("cam",))
def kernel_flow_limit(
    key,
    samples: Int(3, 20) = 8,
    kernel: OneOf("laplace", "matern32") = "laplace",
    scale: Real(0.05, 0.5) = 0.2,
    gap: Real(0.1, 4.0) = 2.0,
):
    r"""Limit of the kernel gradient flow.

    For squared loss and K ≻ 0 the risk falls at least as fast as $e^{-4\lambda_{\min} t/n}$, and the flow tends to the
    start plus the correction of least norm. Where K is singular only the component in its range moves; for logistic
    loss on separable data the norm grows like log t and there is no limit.

    $$\mathcal R(t) \le e^{-4\lambda_{\min} t/n}\, \mathcal R(0), \quad f_\infty = f_0 + k_x^\top K^{-1}(y - f_0)$$

    Assumes: K ≻ 0 (for the rate).

    Check: Points on a line; then the first one doubled, with a second label at distance `gap`; then labels ±1.
    """
    rng = data.generator(key)
    x, k = spaced_points(rng, samples), kernel_called(kernel, scale)
    y, z = rng.standard_normal(samples), np.linspace(-1.2, 1.2, 41)[:, None]
    before = lambda p: np.sin(4 * p[:, 0])  # noqa: E731
    K = k(x, x)
    flow = tangent.KernelFlow(k, x, y, start=before(x))
    least = np.linalg.eigvalsh(K)[0]
    times = np.concatenate([[0.0], samples / (4 * least) * np.geomspace(1e-3, 8, 40)])
    risk = np.asarray(flow.risk(times))
    line = np.exp(-4 * least * times / samples) * risk[0]
    yield at_most(risk, line, "R(t), against e^(-4λ_min t/n) R(0)", rtol=1e-10)
    limit = before(z) + k(z, x) @ np.linalg.solve(K, y - before(x))
    yield close(flow.at(z, start=before(z)), limit, "limit at 41 points, against f₀ + k K⁻¹(y - f₀)", atol=1e-8)

    double, labels = np.concatenate([x, x[:1]]), np.append(y, y[0] + gap)
    two = tangent.KernelFlow(k, double, labels, start=before(double))
    left = np.asarray(two.values()) - labels
    expected = np.zeros(samples + 1)
    expected[[0, -1]] = gap / 2, -gap / 2
    yield close(left, expected, "residuals left where one point has two labels: half their difference", atol=1e-8)
    null = np.zeros(samples + 1)
    null[[0, -1]] = 2**-0.5, -(2**-0.5)
    moved = (np.asarray(two.values(times)) - before(double)) @ null
    yield close(moved, 0.0, "movement along the null vector of K, all times", atol=1e-12 * np.linalg.norm(labels))

    signs = rng.choice([-1.0, 1.0], samples)
    late = np.geomspace(1.0, 1e6, 25)
    run = infinite_width.function_flow(K, signs, late, loss=_mean_logistic, rtol=1e-9, atol=1e-12)
    c = np.asarray(run.impulses)
    norms = np.sqrt(np.sum(c * (c @ K), axis=1))
    risks = np.asarray(jnp.mean(logistic_of_output(run.outputs, jnp.asarray(signs)), axis=1))
    fit = np.sqrt(signs @ np.linalg.solve(K, signs))  # ‖u‖ of the interpolant u of the labels
    roof = np.log1p(1 / late) + (fit * np.log(late)) ** 2 / (2 * late)
    yield at_most(risks, roof, "logistic risk, against R(u log t) + ‖u log t‖²/2t: it tends to 0", rtol=1e-6)
    yield at_least(risks, 0.0, "logistic risk: the infimum 0 is not attained", strict=True)
    floor = np.log(1 / np.expm1(np.minimum(roof, 30.0)))
    what = "‖f‖, against the least norm with that risk, log t - O(log log t)"
    endless = at_least(norms, np.maximum(floor, 0.0), what)
    yield endless
    ceiling = fit * np.log(late) + np.sqrt((fit * np.log(late)) ** 2 + 2 * late * np.log1p(1 / late))
    yield at_most(norms, ceiling, "‖f‖, against ‖u‖ log t + √(‖u‖² log² t + 2)")
    wrong = close(norms[-1], norms[12], "‖f‖ at t = 10⁶, against t = 10³, logistic loss", rtol=0.01)
    prints = "from convexity alone, the flow converges to a global minimiser"
    yield erratum(wrong, of=endless, by="cam", prints=prints)
    growth = (norms[-1] - norms[12]) / np.log(late[-1] / late[12])
    at = times[1:]
    lines, points = {"e^(-4λ_min t/n) R(0)": (at, line[1:])}, {"R(t)": (at, risk[1:])}
    title = "K > 0, squared loss: the risk stays under the rate line"
    first = figure.curves(title, "time", "mean squared risk", lines=lines, points=points, log="xy")
    ends, half = at[[0, -1]], np.full(2, gap / 2)
    lines = {"half the difference": (ends, half), "minus half of it": (ends, -half)}
    residuals = (np.asarray(two.values(at)) - labels).T
    points = {"first label": (at, residuals[0]), "second label": (at, residuals[-1])}
    title = f"One point with labels {gap:.3g} apart: half stays"
    second = figure.curves(title, "time", "residuals at the doubled point", lines=lines, points=points, log="x")
    lines = {"upper bound": (late, ceiling), "lower bound": (late, np.maximum(floor, 0.0))}
    title = f"Separable labels, logistic loss: ‖f‖ gains {growth:.3g} per unit of log t"
    points = {"‖f(t)‖": (late, norms)}
    third = figure.curves(title, "time", "‖f‖ in the kernel's space", lines=lines, points=points, log="x")
    title = f"Squared loss stays under its rate; two labels at one point leave {gap / 2:.3g}; logistic norms grow on"
    yield figure.beside(title, first, second, third, columns=3)
