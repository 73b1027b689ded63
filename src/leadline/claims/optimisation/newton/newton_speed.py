"""Newton's method near a minimiser, where digits double, and gradient descent as Newton with a round Hessian."""

import jax.numpy as jnp
import numpy as np

from leadline import data, optimisation
from leadline.claims.optimisation.gradient_descent.line_search_zigzag import ellipse
from leadline.claims.scenarios.optimisation.small_regressions import drawn_logistic, drawn_quadratic
from leadline.evidence import Int, Real, at_least, at_most, claim, close, reference
from leadline.presentation import figure


@claim(sources=("penn",))
def newton_quadratic_convergence(key, penalty: Real(0.01, 0.7, log=True) = 0.1, dimension: Int(1, 20) = 4):
    r"""Quadratic convergence of Newton's method.

    Near a minimiser with H ⪰ mI and M-Lipschitz Hessian, a Newton step squares the error: ‖w⁺ − w*‖ ≤ (M/(2m))‖w −
    w*‖², so the number of correct digits doubles. This holds only near the minimiser: on log cosh full steps diverge
    from |w| > 1.0886.

    $$\|w^+ - w^*\| \le \frac{M}{2m} \|w - w^*\|^2$$

    Assumes: H ⪰ mI near w*; the Hessian is M-Lipschitz; the start is near enough.

    Check: Newton's method runs on softmax regression on the 1797 digits from 0, on logistic regression, whose M is
    known, and on log cosh.
    """
    digits = optimisation.digits_softmax(penalty)
    norms = optimisation.descend(digits, optimisation.newton(), jnp.zeros(650), 7).gradient_norms
    above = norms[norms > 1e-13]
    order = np.log(above[-1] / above[-2]) / np.log(above[-2] / above[-3])
    yield close(order, 2.0, "order of convergence on digits, from the last three ‖g‖ above rounding", atol=0.2)
    if penalty == 0.1:
        known = [4.4e-1, 9.1e-2, 4.1e-3, 2.8e-10]
        yield reference(norms[[0, 1, 2, 4]], known, "‖g‖ after 0, 1, 2 and 4 steps at a = 0.1", digits=2)
        yield reference(norms[3], 1.63e-5, "‖g‖ after 3 steps at a = 0.1", digits=3)
        yield at_most(norms[5], 3e-16, "‖g‖ after five steps")
    rng = data.generator(key)
    y = rng.choice([-1.0, 1.0], 60)
    x = rng.normal(size=(60, dimension)) + 0.5 * y[:, None]
    loss = optimisation.LogisticRidge(x, y, penalty)
    bend = np.mean(np.linalg.norm(x, axis=1) ** 3) / (6 * np.sqrt(3))  # |σ″| ≤ 1/(6√3)
    w, path = np.zeros(dimension), [np.zeros(dimension)]
    for _ in range(8):
        w = w - np.linalg.solve(loss.hessian(w), loss.gradient(w))
        path.append(w)
    known = loss.constants()
    away, gap = np.linalg.norm(np.array(path) - known.minimiser, axis=1), loss(np.array(path)) - known.minimum
    yield at_most(away[1:], bend / (2 * penalty) * away[:-1] ** 2, "‖w⁺ − w*‖ on logistic regression", atol=1e-12)
    squares = known.smoothness * bend**2 / (2 * penalty**4) * gap[:-1] ** 2
    yield at_most(gap[1:], squares, "gap after a step, against C gap², C = LM²/(2m⁴)", atol=1e-14)
    edge = 1.0886591  # sinh 2w = 4w: the step overshoots to −w
    mirrored = edge - np.sinh(2 * edge) / 2
    yield close(mirrored, -edge, "log cosh: the step from 1.08866 goes to its mirror image", atol=5e-6)
    inside, outside = (_log_cosh_newton(edge + shift) for shift in (-0.01, 0.01))
    yield at_most(abs(inside), 1e-9, "log cosh from 1.0787: |w| in the end")
    yield at_least(abs(outside), 10.0, "log cosh from 1.0987: |w| once it runs away", strict=True)
    digits = -np.log10(np.maximum(norms, 1e-17))
    t, last = np.arange(len(norms)), len(above) - 1
    lines = {"doubling": (t[: last + 1], digits[last] / 2.0 ** (last - t[: last + 1]))}
    title = f"Digits softmax regression, a = {penalty:.3g}: correct digits double per step (measured order {order:.2f})"
    yield figure.curves(title, "Newton step", "−log₁₀ ‖g‖", lines=lines, points={"measured": (t, digits)})


def _log_cosh_newton(w: float) -> float:
    for _ in range(60):
        w -= np.sinh(2 * w) / 2
        if abs(w) > 10:
            break
    return w


@claim(sources=("sheet",))
def gd_as_isotropic_newton(
    key,
    step_size: Real(0.001, 10.0, log=True) = 0.1,
    dimension: Int(2, 30) = 4,
    condition: Real(1.5, 100.0, log=True) = 8.0,
    num_steps: Int(1, 20) = 10,
):
    r"""Gradient descent as isotropic Newton.

    Gradient descent with step size η is Newton's method with (1/η)I for the Hessian: it minimises a model whose
    contours are circles, and is Newton's method itself exactly when H = (1/η)I.

    $$w - \eta g = \operatorname{argmin}_v \; l(w) + \langle g, v - w \rangle + \tfrac{1}{2 \eta} \|v - w\|^2$$

    Check: The iterates of both are compared on a logistic regression, then on quadratics with H = (1/η)I and with the
    given κ.
    """
    rng = data.generator(key)
    loss = drawn_logistic(rng, 50, dimension, condition)
    eta = step_size / loss.constants().smoothness
    start = rng.normal(size=dimension)
    path, isotropic = optimisation.gradient_path(loss.gradient, start, eta, num_steps), jnp.eye(dimension) / eta
    w, points = start, [start]
    for _ in range(num_steps):
        w = w + np.asarray(optimisation.modified_newton_step(isotropic, jnp.asarray(loss.gradient(w))))
        points.append(w)
    tolerance = 1e-12 * (1 + np.abs(path).max())
    yield close(points, path, "iterates of Newton with (1/η)I, against gradient descent", atol=tolerance)
    v = path[1] + 0.3 * np.linalg.norm(path[1] - start) * rng.normal(size=(100, dimension))
    g = loss.gradient(start)
    model = (v - start) @ g + np.sum((v - start) ** 2, 1) / (2 * eta)
    yield at_least(model, -eta * (g @ g) / 2, "circular model at 100 points, against its value at the step", rtol=1e-12)
    bowl = optimisation.Quadratic(np.eye(dimension) / eta, np.zeros(dimension))
    after = np.linalg.norm(start - eta * bowl.gradient(start))
    yield at_most(after, 1e-12 * np.linalg.norm(start), "H = (1/η)I: distance to the minimiser after one step")
    bent = drawn_quadratic(rng, dimension, condition)
    newton = optimisation.modified_newton_step(bent.matrix, jnp.asarray(bent.gradient(start)))
    apart = np.linalg.norm(newton + bent.gradient(start) / condition) / np.linalg.norm(newton)
    yield at_least(apart, 1e-6, "another H, step 1/L: relative distance of the two steps", strict=True)
    curvature, point = np.array([[1.0, 0.0], [0.0, condition]]), np.array([1.5, 0.9])
    slope_here, radius = curvature @ point, 1 / condition
    lower = point - radius * slope_here
    lines = {
        "contour of the circular model": ellipse(np.eye(2) / radius, radius * slope_here @ slope_here / 2, lower),
        "contour of the true model": ellipse(curvature, point @ curvature @ point / 2),
    }
    points = {"w": point[None], "after gradient descent": lower[None], "after Newton": np.zeros((1, 2))}
    title = f"Descent (step 1/L) minimises a circular model, Newton the true one (κ = {condition:.3g})"
    yield figure.plane(title, "w₁", "w₂", points=points, lines=lines, domain=((-2.2, 3.2), (-2.7, 2.7)))
